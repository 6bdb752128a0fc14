package opensearch

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/internal/rank"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// withoutCodes returns the passages whose codes by an expert are neither in the sample nor fetched.
func (r *request) withoutCodes(x schema.Expert, ordinals []rank.Ordinal) (out []rank.Ordinal) {
	for _, o := range ordinals {
		if r.codesAt(x, o) == nil {
			out = append(out, o)
		}
	}
	return out
}

// codesAt returns the codes of a passage by an expert, from the sample or as they were fetched. It returns an empty
// slice if the expert does not read the passage, and nil if the codes are in neither place.
func (r *request) codesAt(x schema.Expert, o rank.Ordinal) []byte {
	if codes := r.sample.code(x, o); codes != nil {
		return codes
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.codes[x.Name][o]
}

// vectorAt returns the vector of a passage by an expert, or the vectors of its windows one after the other, from the
// sample or as they were fetched. It returns an empty slice if the expert does not read the passage, and nil if the
// vectors are in neither place.
func (r *request) vectorAt(x schema.Expert, o rank.Ordinal) []float32 {
	if vector := r.sample.vector(x, o); vector != nil {
		return vector
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.vectors[x.Name][o]
}

// codesSearch returns the search for codes by their doc values.
func (r *request) codesSearch(x schema.Expert, ordinals []rank.Ordinal) object {
	return withoutStored(object{
		"size":             len(ordinals),
		"query":            object{"bool": object{"filter": r.store.idsQuery(r.table.idsOf(ordinals))}},
		"track_total_hits": false,
		"docvalue_fields":  []string{x.Field()},
	})
}

// takeCodes keeps the codes in the answer to codesSearch, none for a passage that the expert left out. It returns an
// ErrAnswer for malformed codes.
func (r *request) takeCodes(x schema.Expert, ordinals []rank.Ordinal, s searchAnswer) error {
	for _, h := range s.hits {
		codes := []byte{} // of a passage that the expert left out
		if len(h.fields[x.Field()]) > 0 {
			var err error
			codes, err = h.codes(x)
			if err != nil {
				return fmt.Errorf("%w: passage %q: %w", cluster.ErrAnswer, h.id, err)
			}
		}
		o := r.table.ordinal(h.id, 0, 0)
		r.mu.Lock()
		if r.codes[x.Name] == nil {
			r.codes[x.Name] = map[rank.Ordinal][]byte{}
		}
		r.codes[x.Name][o] = codes
		r.mu.Unlock()
	}
	return nil
}

// fetchCodes fetches the codes of those passages that have none at hand. Passages that are gone get none. It fails if
// the cluster does not answer.
func (r *request) fetchCodes(ctx context.Context, x schema.Expert, ordinals []rank.Ordinal) error {
	for some := range slices.Chunk(r.withoutCodes(x, ordinals), mostHits) {
		answers, err := r.store.multiPartly(ctx, []object{r.codesSearch(x, some)})
		if err == nil {
			err = r.takeCodes(x, some, answers[0])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fetchVectors fetches the vectors of those passages that have none at hand, in one request. Passages that are gone
// get none. It fails if a passage has no vectors of the expert.
func (r *request) fetchVectors(ctx context.Context, x schema.Expert, ordinals []rank.Ordinal) error {
	var missing []rank.Ordinal
	for _, o := range ordinals {
		if r.vectorAt(x, o) == nil {
			missing = append(missing, o)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	ids := r.table.idsOf(missing)
	stored, err := r.store.readStored(ctx, ids, x.Sources()...)
	if err != nil {
		return err
	}
	for i, has := range stored {
		if !has.Found {
			continue
		}
		if err := r.takeVector(x, missing[i], has.Source); err != nil {
			return fmt.Errorf("passage %q: %w", ids[i], err)
		}
	}
	return nil
}

// takeVector keeps an expert's vectors of the passage at o, from its document: one, or one for each window. It fails if
// the document has none or they cannot be decoded.
func (r *request) takeVector(x schema.Expert, o rank.Ordinal, from schema.Source) error {
	made, err := from.Encoded(x)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.vectors[x.Name] == nil {
		r.vectors[x.Name] = map[rank.Ordinal][]float32{}
	}
	r.vectors[x.Name][o] = made.Vectors
	return nil
}
