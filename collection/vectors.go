package collection

import (
	"context"
	"fmt"
	"math"
	"slices"

	"conclave/ann"
	"conclave/rank"
)

// Vectors is the vectors of one expert in all segments, searched as one.
type Vectors struct {
	generation *Generation
	expert     expertManifest
	indexes    []ann.Index // one a segment
}

// Expert is the vectors of an expert, or false when the collection has none.
func (g *Generation) Expert(name string) (*Vectors, bool) {
	x := g.manifest.expert(name)
	if x == nil {
		return nil, false
	}
	v := &Vectors{generation: g, expert: *x}
	for _, s := range g.segments {
		v.indexes = append(v.indexes, s.vectors[name])
	}
	return v, true
}

// Search finds the k passages with the highest inner products with query, best
// first, and equal ones by passage id. With exact every vector is compared and
// the result does not depend on how the passages are divided into segments; a
// graph finds nearly all of them, and at least as many in several segments,
// since each of them is searched as widely as one would be.
func (v *Vectors) Search(ctx context.Context, query []float32, k int, exact bool) ([]rank.Hit, error) {
	hits, _, err := v.SearchStats(ctx, query, ann.SearchOptions{K: k, Exact: exact})
	return hits, err
}

// SearchStats is Search with the options of ann, and says what it cost.
// Options.Filter is of the generation's ordinals.
func (v *Vectors) SearchStats(ctx context.Context, query []float32, o ann.SearchOptions) ([]rank.Hit, ann.Stats, error) {
	lists := make([][]rank.Hit, len(v.indexes))
	stats := ann.Stats{Exact: true}
	for i, ix := range v.indexes {
		s := v.generation.segments[i]
		options := o
		options.Filter = v.generation.visible(i, o.Filter)
		hits, st, err := ix.Search(ctx, query, options)
		if err != nil {
			return nil, stats, fmt.Errorf("searching the vectors of %s in %s: %w", v.expert.Name, s.name, err)
		}
		for j := range hits {
			hits[j].Ordinal += s.base
		}
		lists[i] = hits
		stats.Scored += st.Scored
		stats.Rescored += st.Rescored
		stats.Hops += st.Hops
		stats.Exact = stats.Exact && st.Exact
	}
	hits, err := v.generation.merge(lists, o.K)
	return hits, stats, err
}

// Scores writes the inner products of query with the stored vectors of the
// given passages to out, which is as long. It is NaN for an ordinal that does
// not exist and for a query of another dimension.
func (v *Vectors) Scores(query []float32, ordinals []rank.Ordinal, out []float32) {
	for i, o := range ordinals {
		out[i] = float32(math.NaN())
		if int64(o) < int64(v.generation.total) {
			at, local := v.locate(o)
			v.indexes[at].Scores(query, []rank.Ordinal{local}, out[i:i+1])
		}
	}
}

// Vector is a copy of the stored vector of a passage.
func (v *Vectors) Vector(ordinal rank.Ordinal) ([]float32, error) {
	if int64(ordinal) >= int64(v.generation.total) {
		return nil, fmt.Errorf("there is no passage number %d among %d", ordinal, v.generation.total)
	}
	at, local := v.locate(ordinal)
	return slices.Clone(v.indexes[at].Vector(local)), nil
}

func (v *Vectors) locate(o rank.Ordinal) (at int, local rank.Ordinal) {
	s := v.generation.segmentOf(o)
	return slices.Index(v.generation.segments, s), o - s.base
}

// Len is the number of vectors, those of deleted passages too.
func (v *Vectors) Len() int { return v.generation.total }

// Dimension is the number of numbers of a vector.
func (v *Vectors) Dimension() int { return v.expert.Dimension }

// visible is the filter for one segment: those of wanted that the segment
// holds and that are not deleted. Nil is all.
func (g *Generation) visible(at int, wanted *ann.Filter) *ann.Filter {
	s := g.segments[at]
	if wanted == nil {
		return s.live
	}
	out := ann.NewFilter(s.store.Len())
	for o := range rank.Ordinal(s.store.Len()) {
		if wanted.Contains(s.base+o) && !s.dead.has(o) {
			out.Add(o)
		}
	}
	return out
}
