package opensearch

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// searchHit is a hit of a search.
type searchHit struct {
	id     string
	index  string
	score  float32
	bytes  int    // of the passage; 0 where they were not asked for
	print  uint64 // its fingerprint; 0 where it was not asked for, or is not there
	fields map[string][]json.RawMessage
	source schema.Source
	named  []string     // queries with a name that it meets
	why    *explanation // where it was asked for
	// SeqNo and term say in which state it was found, where that was asked for.
	seqNo, term int64
}

// searchAnswer is the answer to one search.
type searchAnswer struct {
	hits         []searchHit
	total        int64           // of passages that match, where they were counted
	aggregations json.RawMessage // in JSON, where some were asked for
	lost         error           // nil: it is of all shards; else of those that have a copy
}

// firstLostError returns the error of the first answer that lacks a shard (searchAnswer.lost); nil if all answers are
// of all shards.
func firstLostError(answers []searchAnswer) error {
	for _, a := range answers {
		if a.lost != nil {
			return a.lost
		}
	}
	return nil
}

// byScore orders hits as rankings are: equal scores by their ids.
var byScore = []any{object{"_score": "desc"}, object{schema.FieldID: "asc"}}

// sortOrder returns the order in which hits are asked for: byScore, and in a joined store by the index, too, since
// several may have one id.
func (s *Store) sortOrder() []any {
	if s.members == nil {
		return byScore
	}
	return append(slices.Clone(byScore), object{"_index": "asc"})
}

// answering is how much of a deadline is kept for sending the answer and for what follows it.
const answering = 20 * time.Millisecond

// multi sends several searches in one request and returns their answers in order; nil, without a request, if there are
// none. Scores of words are by the statistics of the whole index (dfs). It sets the timeout of each search, a little
// before the deadline of ctx. It fails if an answer is not of all shards; the answers come with that error.
func (s *Store) multi(ctx context.Context, searches []object) ([]searchAnswer, error) {
	answers, err := s.multiPartly(ctx, searches)
	if err == nil {
		err = firstLostError(answers)
	}
	return answers, err
}

// multiPartly sends several searches in one request and returns their answers in order; nil, without a request, if
// there are none. An answer that lacks shards without a copy is no error: its lost says so. The searches end a little
// before the deadline of ctx, which is set in them as timeout. A failed request is sent once more if a node may have
// ended in the middle.
func (s *Store) multiPartly(ctx context.Context, searches []object) ([]searchAnswer, error) {
	if len(searches) == 0 {
		return nil, nil
	}
	within := ""
	if end, ok := ctx.Deadline(); ok {
		left := time.Until(end) - answering
		if left <= 0 {
			return nil, context.DeadlineExceeded
		}
		within = fmt.Sprintf("%dms", left.Milliseconds()+1)
	}
	var body []byte
	for _, search := range searches {
		header, err := json.Marshal(object{"index": s.index, "search_type": searchType(search["query"])})
		if err != nil {
			return nil, err
		}
		if within != "" {
			search["timeout"] = within
		}
		one, err := json.Marshal(search)
		if err != nil {
			return nil, err
		}
		body = append(append(append(append(body, header...), '\n'), one...), '\n')
	}
	path := "/_msearch"
	if within != "" {
		path += "?cancel_after_time_interval=" + within
	}
	for again := false; ; again = true {
		answer, err := s.client.Do(ctx, "POST", path, body)
		if err != nil {
			return nil, err
		}
		out, err := parseSearches(answer, len(searches))
		if err == nil {
			err = s.tagHits(out)
		}
		// A node that ends in the middle fails the searches that it took part in, and they
		// find other copies when they are asked again.
		if again || ctx.Err() != nil || err != nil && !errors.Is(err, cluster.ErrAnswer) ||
			err == nil && firstLostError(out) == nil {
			return out, err
		}
	}
}

// searchType returns how the cluster is to score a query: WholeIndex if it scores words, so that term statistics are
// collected from all shards first, else EachShard.
func searchType(query any) string {
	if scoresWords(query) {
		return cluster.WholeIndex
	}
	return cluster.EachShard
}

// scoresWords reports whether a query, decoded JSON, has a term of a field of words, forms or pairs anywhere in it.
func scoresWords(query any) bool {
	switch of := query.(type) {
	case object:
		if term, ok := of["term"].(object); ok {
			for field := range term {
				return field == schema.FieldWords || field == schema.FieldForms || field == schema.FieldPairs
			}
		}
		for _, inner := range of {
			if scoresWords(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(of, scoresWords)
	}
	return false
}

// withoutStored changes a search, in place, so that hits take their ids from doc values (takeID) and the cluster reads
// no stored documents, and returns it. Stored documents are slow: the cluster unpacks several for each hit, with some
// kilobytes of codes each.
func withoutStored(search object) object {
	fields, _ := search["docvalue_fields"].([]string)
	search["docvalue_fields"] = append([]string{schema.FieldID}, fields...)
	search["stored_fields"] = "_none_"
	search["_source"] = false
	return search
}

// takeID sets the id of a hit of a search withoutStored. It fails if the hit has none.
func (f *searchHit) takeID() error {
	if all := f.fields[schema.FieldID]; len(all) != 1 || json.Unmarshal(all[0], &f.id) != nil || f.id == "" {
		return fmt.Errorf("%w: a hit without an id", cluster.ErrAnswer)
	}
	return nil
}

// codes returns the codes of an expert, from the doc values of the hit, or else from its document. It fails if the hit
// has none.
func (f *searchHit) codes(x schema.Expert) ([]byte, error) {
	all := f.fields[x.Field()]
	if len(all) != 1 {
		return f.source.Codes(x)
	}
	var text string
	if err := json.Unmarshal(all[0], &text); err != nil {
		return nil, fmt.Errorf("field %s: %w", x.Field(), err)
	}
	codes, err := base64.RawStdEncoding.DecodeString(text) // as the cluster writes doc values
	if err != nil {
		return nil, fmt.Errorf("field %s: %w", x.Field(), err)
	}
	return codes, nil
}

// parseSearches returns the answers to n searches of one request, in order. It returns an ErrAnswer if one failed,
// ran out of time, or cannot be read. Shards without a copy are no error, unless all are: searchAnswer.lost has it.
func parseSearches(answer []byte, n int) ([]searchAnswer, error) {
	var got struct {
		Responses []struct {
			Error json.RawMessage `json:"error"`
			Hits  *struct {
				Total *struct {
					Value int64 `json:"value"`
				} `json:"total"`
				Hits []struct {
					ID     string                       `json:"_id"`
					Index  string                       `json:"_index"`
					Score  *json.Number                 `json:"_score"`
					Fields map[string][]json.RawMessage `json:"fields"`
					Source schema.Source                `json:"_source"`
					Named  []string                     `json:"matched_queries"`
					Why    *explanation                 `json:"_explanation"`
					SeqNo  int64                        `json:"_seq_no"`
					Term   int64                        `json:"_primary_term"`
				} `json:"hits"`
			} `json:"hits"`
			Aggregations json.RawMessage `json:"aggregations"`
			cluster.Coverage
		} `json:"responses"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, fmt.Errorf("%w: %w", cluster.ErrAnswer, err)
	}
	if len(got.Responses) != n {
		return nil, fmt.Errorf("%w: %d answers to %d searches", cluster.ErrAnswer, len(got.Responses), n)
	}
	out := make([]searchAnswer, n)
	for i, r := range got.Responses {
		switch {
		case len(r.Error) > 0:
			return nil, fmt.Errorf("%w: %s", cluster.ErrAnswer, cluster.Reason(r.Error))
		case r.Hits == nil:
			return nil, fmt.Errorf("%w: no hits", cluster.ErrAnswer)
		}
		if err := r.CheckSearched(); err != nil {
			if r.Shards == nil || r.TimedOut || r.Shards.Successful <= 0 {
				return nil, err
			}
			out[i].lost = err
		}
		if r.Hits.Total != nil {
			out[i].total = r.Hits.Total.Value
		}
		out[i].aggregations = r.Aggregations
		for _, h := range r.Hits.Hits {
			hit := searchHit{id: h.ID, index: h.Index, fields: h.Fields, source: h.Source, named: h.Named, why: h.Why,
				seqNo: h.SeqNo, term: h.Term}
			if hit.id == "" {
				if err := hit.takeID(); err != nil {
					return nil, err
				}
			}
			if h.Score != nil {
				score, err := strconv.ParseFloat(h.Score.String(), 32)
				if err != nil {
					return nil, fmt.Errorf("%w: the score of %q: %w", cluster.ErrAnswer, h.ID, err)
				}
				hit.score = float32(score)
			}
			if n := h.Fields[schema.FieldBytes]; len(n) == 1 {
				size, err := strconv.Atoi(string(n[0]))
				if err != nil || size < 0 || size > cluster.MaxAnswer {
					return nil, fmt.Errorf("%w: passage %q has %s bytes", cluster.ErrAnswer, h.ID, n[0])
				}
				hit.bytes = size
			}
			if n := h.Fields[schema.FieldPrint]; len(n) == 1 {
				print, err := strconv.ParseInt(string(n[0]), 10, 64)
				if err != nil {
					return nil, fmt.Errorf("%w: passage %q has the fingerprint %s", cluster.ErrAnswer, h.ID, n[0])
				}
				hit.print = uint64(print)
			}
			out[i].hits = append(out[i].hits, hit)
		}
	}
	return out, nil
}
