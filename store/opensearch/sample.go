package opensearch

import (
	"cmp"
	"context"
	"slices"

	"example.org/conclave/internal/rank"
)

// sample are passages that were chosen without a question, with their vectors and codes:
// a confidence compares each question with them, and no request is spent on that.
type sample struct {
	table    *table
	ordinals []rank.Ordinal
	vectors  map[string]map[rank.Ordinal][]float32
	codes    map[string]map[rank.Ordinal][]byte
}

// sampled is how many there are: as many as the engine asks for.
const sampled = 128

// ReadSample reads the sample, where the corpus has none yet. It is to be called before
// questions are answered, and from time to time, since a table of ids that is full gives
// way to another.
func (c *Corpus) ReadSample(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.table.Load()
	if s := c.sample.Load(); s != nil && s.table == t {
		return nil
	}
	store := c.Store()
	answers, err := store.multiPartly(ctx, []object{{
		"size": sampled, "_source": false, "docvalue_fields": []string{fieldBytes},
		"query": object{
			"function_score": object{"random_score": object{"seed": 13, "field": fieldID}, "boost_mode": "replace"},
		},
	}})
	if err != nil {
		return err
	}
	s := &sample{table: t}
	for _, hit := range answers[0].hits {
		s.ordinals = append(s.ordinals, t.ordinal(hit.id, hit.bytes, 0))
	}
	r := &request{store: store, corpus: c, table: t, fetched: newFetched()}
	for _, x := range store.Manifest().keepers() {
		if x.Late {
			err = r.fetchCodes(ctx, x, s.ordinals)
		} else {
			err = r.fetchVectors(ctx, x, s.ordinals)
		}
		if err != nil {
			return err
		}
	}
	s.vectors, s.codes = r.vectors, r.codes
	c.sample.Store(s)
	return nil
}

// sortBy puts ordinals in the order of their ids.
func sortBy(ordinals []rank.Ordinal, ids []string) {
	slices.SortFunc(ordinals, func(a, b rank.Ordinal) int { return cmp.Compare(ids[a], ids[b]) })
}
