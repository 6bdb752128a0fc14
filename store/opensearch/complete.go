package opensearch

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
)

// lacking returns the clauses of the passages without a field.
func lacking(field string) object {
	return object{"must_not": object{"exists": object{"field": field}}}
}

// completing is the stage of Store.complete.
const completing store.Stage = "words and copies"

// complete gives an index that an older program made writtenFields, the keyField and the valuesField,
// and passages that lack them their values. Nothing is encoded, and servers that do not know the fields go on.
func (s *Store) complete(ctx context.Context, o store.BuildOptions) error {
	if s.beside() != (beside{true, true, true}) {
		fields := writtenFields()
		maps.Copy(fields, keyField())
		maps.Copy(fields, valuesField())
		if err := s.changeMeta(ctx, fields, func(*meta) error { return nil }); err != nil {
			return err
		}
		s.written.Store(true)
		s.keyed.Store(true)
		s.valued.Store(true)
		// Writers look as often for what the index is, and write the fields afterwards.
		if err := sleep(ctx, settling); err != nil {
			return err
		}
	}
	incomplete := []any{object{"bool": lacking(fieldPrint)}, object{"bool": lacking(fieldKey)},
		object{"bool": lacking(fieldValues)}}
	scan, err := s.scan(ctx, object{"bool": object{"should": incomplete}})
	if err != nil {
		return err
	}
	defer func() { _ = scan.Close() }() // else it ends by itself, after pageAlive
	for ended := false; !ended; {
		var batch []corpus.Passage
		batch, ended, err = s.readBatch(scan, store.BuildOptions{}, &store.BuildReport{})
		if err != nil {
			return err
		}
		if err := s.completeBatch(ctx, batch); err != nil {
			return err
		}
		if done, total := scan.Progress(); o.Progress != nil && done > 0 {
			o.Progress(store.Progress{Stage: completing, Done: done, Total: total, Unit: "passages"})
		}
	}
	return nil
}

// completeBatch gives passages writtenFields, the keyField and the valuesField. Those that have another content by now
// are left to who wrote it.
func (s *Store) completeBatch(ctx context.Context, batch []corpus.Passage) error {
	if len(batch) == 0 {
		return nil
	}
	ids := make([]string, len(batch))
	for i := range batch {
		ids[i] = batch[i].ID
	}
	stored, err := s.get(ctx, ids)
	if err != nil {
		return err
	}
	var operations []operation
	for i, has := range stored {
		if has.found && has.version == batch[i].Version() {
			body := append(appendWritten([]byte{'{'}, s.current(), &batch[i]), ',')
			body = append(appendKey(body, ids[i]), ',')
			body = append(appendValues(body, &batch[i]), '}')
			operations = append(operations, operation{verb: updating, id: ids[i], seqNo: has.seqNo, term: has.term, body: body})
		}
	}
	results, err := s.bulk(ctx, operations)
	if err != nil {
		return err
	}
	for i, r := range results {
		if !r.made() && !r.conflict() {
			return fmt.Errorf("passage %q was refused with status %d: %s", operations[i].id, r.status, r.why)
		}
	}
	return nil
}

// exactlyCounted is up to how many different texts the cluster counts them one by one; beyond,
// within some .2 % (HyperLogLog++).
const exactlyCounted = 40_000

// Copies returns how many passages have the title and the text of another one. Of an index with
// more than exactlyCounted passages it is an estimate, and 0 below one in a hundred.
func (s *Store) Copies(ctx context.Context) (int64, error) {
	if !s.written.Load() {
		return 0, nil
	}
	body, err := json.Marshal(
		object{"size": 0, "track_total_hits": true, "query": object{"exists": object{"field": fieldPrint}},
			"aggs": object{"texts": object{"cardinality": object{"field": fieldPrint, "precision_threshold": exactlyCounted}}}},
	)
	if err != nil {
		return 0, err
	}
	answer, err := s.askFor(ctx, opening, "POST", s.path("/_search"), body, searchedWholly)
	if err != nil {
		return 0, err
	}
	var said struct {
		Hits struct {
			Total struct {
				Value int64 `json:"value"`
			} `json:"total"`
		} `json:"hits"`
		Aggregations struct {
			Texts *struct {
				Value int64 `json:"value"`
			} `json:"texts"`
		} `json:"aggregations"`
	}
	if err := json.Unmarshal(answer, &said); err != nil || said.Aggregations.Texts == nil {
		return 0, fmt.Errorf("%w: no count of texts: %w", errAnswer, err)
	}
	all := said.Hits.Total.Value
	copies := max(0, all-said.Aggregations.Texts.Value)
	if all > exactlyCounted && copies < all/100 {
		return 0, nil
	}
	return copies, nil
}
