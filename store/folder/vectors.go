package folder

import (
	"context"
	"fmt"
	"math"
	"slices"

	"example.org/conclave/ann"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store/folder/internal/manifest"
)

// Vectors is the vectors of one expert in all segments, searched as one. If a passage has
// several vectors, its score is the greatest of their scores.
type Vectors struct {
	generation *Generation
	expert     manifest.Expert // that keeps them
	indexes    []ann.Index     // one a segment
	among      *Selection
}

// Expert returns the vectors that an expert searches: its own or its owner's. It returns false if the collection has
// none.
func (g *Generation) Expert(name string) (*Vectors, bool) {
	x := g.manifest.Keeper(name)
	if x == nil {
		return nil, false
	}
	v := &Vectors{generation: g, expert: *x, among: g.everything}
	for _, s := range g.segments {
		v.indexes = append(v.indexes, s.vectors[x.Name])
	}
	return v, true
}

// Search returns the k passages with the highest inner products with query, the best first, and equal ones by id. With
// exact, every vector is compared. A graph finds nearly all of them, and in several segments at least as many, since
// each is searched as widely as one would be. It fails if the vectors are damaged (ErrDamagedVectors) or ctx ends.
func (v *Vectors) Search(ctx context.Context, query []float32, k int, exact bool) ([]rank.Hit, error) {
	hits, _, err := v.SearchStats(ctx, query, ann.SearchOptions{K: k, Exact: exact})
	return hits, err
}

// Among returns the same vectors, of which a search finds only those of a selection. A small selection is compared one
// by one (see ann), so that none is searched worse than all.
func (v *Vectors) Among(s *Selection) *Vectors {
	narrowed := *v
	narrowed.among = s
	return &narrowed
}

// SearchStats returns the o.K passages with the highest inner products with query, the best first, and equal ones by
// id, and what the search cost: how many vectors were compared, and whether all segments were searched exactly.
// o.Filter is ignored: Among narrows the search. It fails if the vectors are damaged (ErrDamagedVectors) or ctx ends.
func (v *Vectors) SearchStats(
	ctx context.Context,
	query []float32,
	o ann.SearchOptions,
) ([]rank.Hit, ann.SearchStats, error) {
	stats := ann.SearchStats{Exact: true}
	among := v.among
	if err := among.checkGeneration(v.generation); err != nil {
		return nil, stats, err
	}
	var lists [][]rank.Hit
	for i, ix := range v.indexes {
		s := v.generation.segments[i]
		if among.segments[i].count == 0 {
			continue
		}
		o.Filter = among.segments[i].filter
		hits, st, err := ix.Search(ctx, query, o)
		if err != nil {
			return nil, stats, fmt.Errorf(
				"searching the vectors of %s in %s: %w", v.expert.Name, s.name,
				v.generation.explainDamage(v.expert.Name, err),
			)
		}
		for j := range hits {
			hits[j].Ordinal += s.base
		}
		lists = append(lists, hits)
		stats.Scored += st.Scored
		stats.Exact = stats.Exact && st.Exact
	}
	hits, err := v.generation.merge(lists, o.K)
	return hits, stats, err
}

// Scores writes the inner products of query with the vectors of some passages to out, which must be as long as
// ordinals, and rank.NoVector for a passage without one. It writes NaN for an ordinal that does not exist, a query of
// another dimension and damaged vectors, which Search reports.
func (v *Vectors) Scores(query []float32, ordinals []rank.Ordinal, out []float32) {
	if len(v.indexes) == 1 { // its ordinals are the collection's
		v.indexes[0].Scores(query, ordinals, out)
		return
	}
	local := make([]rank.Ordinal, 0, len(ordinals))
	for from, to := 0, 0; from < len(ordinals); from = to {
		to = from + 1
		if int64(ordinals[from]) >= int64(v.generation.total) {
			out[from] = float32(math.NaN())
			continue
		}
		// What lies in one segment is scored at once.
		at, first := v.locate(ordinals[from])
		base := ordinals[from] - first
		beyond := rank.Ordinal(v.indexes[at].Len())
		local = append(local[:0], first)
		for to < len(ordinals) && ordinals[to]-base < beyond { // below the base it wraps around
			local = append(local, ordinals[to]-base)
			to++
		}
		v.indexes[at].Scores(query, local, out[from:to])
	}
}

// Vector returns a copy of the stored vector of a passage, or of all its vectors, one after the other; empty if it has
// none. It fails if
// there is no such passage or the vectors are damaged.
func (v *Vectors) Vector(ordinal rank.Ordinal) ([]float32, error) {
	ix, local, err := v.indexOf(ordinal)
	if err != nil {
		return nil, err
	}
	return slices.Clone(ix.Vector(local)), nil
}

// indexOf returns the index that has a passage's vectors and the passage's ordinal there. It first verifies the index's
// files and fails if they are damaged.
func (v *Vectors) indexOf(ordinal rank.Ordinal) (ann.Index, rank.Ordinal, error) {
	if int64(ordinal) >= int64(v.generation.total) {
		return nil, 0, fmt.Errorf("there is no passage number %d among %d", ordinal, v.generation.total)
	}
	at, local := v.locate(ordinal)
	if err := v.indexes[at].Verify(context.Background()); err != nil {
		return nil, 0, v.generation.explainDamage(v.expert.Name, err)
	}
	return v.indexes[at], local, nil
}

// Parts reports whether the expert has a vector for each of several parts of a passage's text.
func (v *Vectors) Parts() bool { return v.expert.Parts }

// Spans returns the parts of a passage's text, as byte ranges in the order of its vectors; nil if the index has one
// vector for each passage, and not nil for a passage without any. A single empty span stands for the whole passage. It
// fails if there is no such passage or the vectors are damaged.
func (v *Vectors) Spans(ordinal rank.Ordinal) ([]rank.Span, error) {
	ix, local, err := v.indexOf(ordinal)
	if grouped, ok := ix.(*ann.GroupedIndex); ok {
		return append([]rank.Span{}, grouped.Spans(local)...), err
	}
	return nil, err
}

// BestPart returns the part of a passage whose vector has the greatest inner product with query, the first of equal
// ones, and that product: the passage's score in Search. It fails if the index has one vector for each passage.
func (v *Vectors) BestPart(query []float32, ordinal rank.Ordinal) (rank.Span, float32, error) {
	ix, local, err := v.indexOf(ordinal)
	if err != nil {
		return rank.Span{}, 0, err
	}
	grouped, ok := ix.(*ann.GroupedIndex)
	if !ok {
		return rank.Span{}, 0, fmt.Errorf("expert %s has one vector a passage, and none of parts", v.expert.Name)
	}
	return grouped.Best(query, local)
}

// locate returns the index of the segment of a passage, and the passage's ordinal in it.
func (v *Vectors) locate(o rank.Ordinal) (at int, local rank.Ordinal) {
	s := v.generation.segmentOf(o)
	return slices.Index(v.generation.segments, s), o - s.base
}

// Len returns the number of passages, deleted ones too.
func (v *Vectors) Len() int { return v.generation.total }

// Dimension returns how many numbers a vector has.
func (v *Vectors) Dimension() int { return v.expert.Dimension }
