package opensearch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// ErrHasExpert is what AddExpert returns for an expert whose vectors the index has already.
var ErrHasExpert = errors.New("the index has vectors of this expert")

// settling is how long AddExpert waits before it fills a new field: writers that are at
// work look that often for what the index is (Writer), and write vectors of the new
// expert, or nothing, afterwards.
const settling = 2 * lookEvery

// AddExpert encodes the passages of an index with one more expert and publishes the expert when every passage has its
// vectors. An interrupted call can be repeated: it goes on. It fails with a *lease.HeldError if another process
// indexes, or adds or removes an expert, and with ErrHasExpert or schema.ErrUnfinished.
func AddExpert(
	ctx context.Context,
	client *cluster.Client,
	index string,
	encoder store.PassageEncoder,
	o store.BuildOptions,
) (report store.BuildReport, err error) {
	if _, err := schema.DescribeEncoder(encoder); err != nil { // before anything is done
		return report, err
	}
	err = changeIndex(ctx, client, index, "the adding of expert "+encoder.Name(), func(ctx context.Context) (err error) {
		report, err = addExpert(ctx, client, index, encoder, o)
		return err
	})
	return report, err
}

// addExpert encodes the passages of an index with one more expert, again and again until none lacks its vectors, and
// publishes the expert. The caller holds the lease of the index. It fails with ErrHasExpert, with
// schema.ErrUnfinished if indexing has not ended, and if the cluster cannot have the vectors or does not answer; what
// was written then stays.
func addExpert(
	ctx context.Context,
	client *cluster.Client,
	index string,
	encoder store.PassageEncoder,
	o store.BuildOptions,
) (report store.BuildReport, err error) {
	s, err := open(ctx, client, index, cluster.Opening)
	if err != nil {
		return report, fmt.Errorf("index %s: %w", index, err)
	}
	x, err := schema.DescribeEncoder(encoder)
	if err != nil {
		return report, err
	}
	if s.about.Manifest == nil {
		return report, fmt.Errorf("index %s: %w", index, schema.ErrUnfinished)
	}
	if _, ok := s.about.Manifest.Expert(x.Name); ok {
		return report, fmt.Errorf("index %s: %w: %s", index, ErrHasExpert, x.Name)
	}
	plan := *s.about.Manifest
	plan.Experts = append(slices.Clone(plan.Experts), x)
	if err := plan.Check(); err != nil {
		return report, err
	}
	err = s.changeMeta(ctx, plan.FieldsOf(x), func(about *schema.Meta) error {
		about.Plan = &plan
		return nil
	})
	if err != nil {
		return report, err
	}
	if x.Owner == "" {
		if err := cluster.Sleep(ctx, settling); err != nil {
			return report, err
		}
		for filled := -1; filled != 0; { // what was changed meanwhile is found by the next pass
			filled, err = s.fillExpert(ctx, x, encoder, o, &report)
			if err != nil {
				return report, err
			}
		}
	}
	return report, s.changeMeta(ctx, nil, func(about *schema.Meta) error {
		done := plan
		done.Calibration, done.Settings = about.Manifest.Calibration, about.Manifest.Settings // as they are by now
		*about = schema.Meta{Manifest: &done}
		return nil
	})
}

// RemoveExpert takes an expert out of the manifest of an index, so that no search uses it. Its vectors stay in the
// documents until these are written again. It fails with a *lease.HeldError if another process indexes, or adds or
// removes an expert, and if the index has no such expert.
func RemoveExpert(ctx context.Context, client *cluster.Client, index, name string) error {
	return changeIndex(ctx, client, index, "the removal of expert "+name, func(ctx context.Context) error {
		s, err := Open(ctx, client, index)
		if err != nil {
			return err
		}
		return s.changeMeta(ctx, nil, func(about *schema.Meta) error { return about.Remove(index, name) })
	})
}

// fillExpert encodes the passages that lack vectors of an expert and writes these. It returns how many passages
// lacked them: 0 means that all have them now. It fails if the encoder does, the cluster does not answer, or ctx
// ends; what was written stays.
func (s *Store) fillExpert(
	ctx context.Context,
	x schema.Expert,
	encoder store.PassageEncoder,
	o store.BuildOptions,
	report *store.BuildReport,
) (found int, err error) {
	scan, err := s.scan(ctx, object{"bool": object{"must_not": object{"term": object{schema.FieldExperts: x.Mark()}}}})
	if err != nil {
		return 0, err
	}
	defer func() { _ = scan.Close() }() // else it ends by itself, after pageAlive
	for ended := false; !ended; {
		var batch []corpus.Passage
		batch, ended, err = s.readBatch(scan, store.BuildOptions{}, report)
		if err != nil {
			return found, err
		}
		found += len(batch)
		if err := s.fillBatch(ctx, x, encoder, batch, report); err != nil {
			return found, err
		}
		if done, total := scan.Progress(); o.Progress != nil {
			o.Progress(store.Progress{Stage: store.Encoding, Expert: x.Name, Done: done, Total: total, Unit: "passages"})
		}
	}
	return found, nil
}

// fillBatch encodes passages with an expert, adds the vectors to their documents, and adds to report the passages
// written and their bytes. It leaves a passage as it is that has the vectors by now, has another content, or is changed
// meanwhile. It fails if the encoder does or the cluster refuses a passage; others may be written by then.
func (s *Store) fillBatch(
	ctx context.Context,
	x schema.Expert,
	encoder store.PassageEncoder,
	batch []corpus.Passage,
	report *store.BuildReport,
) error {
	if len(batch) == 0 {
		return nil
	}
	ids := make([]string, len(batch))
	for i := range batch {
		ids[i] = batch[i].ID
	}
	stored, whole, err := s.readUnfilled(ctx, ids)
	if err != nil {
		return err
	}
	var todo []corpus.Passage
	var operations []operation
	var marks [][]string
	var sources []schema.Source
	for i, has := range stored {
		if has.Found && has.Version == batch[i].Version() && !has.HasMarks([]string{x.Mark()}) {
			todo = append(todo, batch[i])
			op := operation{verb: updating, id: ids[i], seqNo: has.SeqNo, term: has.Term}
			if whole {
				op.verb = replacing
			}
			operations = append(operations, op)
			sources = append(sources, has.Source)
			others := slices.DeleteFunc(has.Experts, func(mark string) bool { return strings.HasPrefix(mark, x.MarkName()) })
			marks = append(marks, append(others, x.Mark())) // an earlier expert of this name had the same field
		}
	}
	vectors, err := store.EncodeTogether(ctx, []store.PassageEncoder{encoder}, nil, todo)
	if err != nil {
		return err
	}
	for i := range operations {
		body := []byte{'{'}
		if whole {
			body = sources[i].AppendFieldsBut(body, append(x.Sources(), schema.FieldExperts)...)
		}
		own := schema.Vectors{x.Name: vectors[x.Name][i]}
		body, err := schema.AppendVectors(body, []schema.Expert{x}, own)
		if err != nil {
			return fmt.Errorf("passage %q: %w", todo[i].ID, err)
		}
		all := append(marks[i], schema.LeftOutMarks([]schema.Expert{x}, own)...)
		operations[i].body = append(schema.AppendField(body, schema.FieldExperts, all), '}')
	}
	results, err := s.writeBulk(ctx, operations)
	if err != nil {
		return err
	}
	for i, r := range results {
		switch {
		case r.succeeded():
			report.Passages++
			report.Bytes += int64(len(operations[i].body))
		case r.conflicted():
		default:
			return fmt.Errorf("passage %q was refused with status %d: %s", todo[i].ID, r.status, r.why)
		}
	}
	return nil
}

// readUnfilled reads documents by their ids, so that the caller can add a field to each. whole reports whether all
// their fields were read, with the codes of late interaction: then the caller has to write all of them, since the
// cluster's own update of one field would lose codes, which are doc values alone. It fails if the cluster does not
// answer.
func (s *Store) readUnfilled(ctx context.Context, ids []string) (there []schema.StoredDocument, whole bool, err error) {
	var codes []schema.Expert
	for field := range s.fields {
		if name, ok := strings.CutPrefix(field, schema.LateField); ok {
			codes = append(codes, schema.Expert{Name: name, Late: true}) // one that was removed, too
		}
	}
	if len(codes) == 0 {
		there, err = s.getStored(ctx, ids)
		return there, false, err
	}
	there, err = s.readSeen(ctx, bulkPatience, ids, codes, "*")
	return there, true, err
}

// lookEvery is for how long a Writer uses what it read of its index before it reads that again.
const lookEvery = time.Second
