package ann

import (
	"context"
	"errors"
	"fmt"
	"math"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

// GroupedIndex is an Index of vectors of parts of passages, of which a passage has any number.
// Its ordinals are those of passages, and the score of a passage is the greatest
// inner product of a query with one of its vectors.
type GroupedIndex struct {
	rows  Index // of the vectors
	parts *parts
}

// OpenGrouped opens an index, built by Build, in which a passage has one or more vectors. kind is one of Kinds.
// vectorsPath and graphPath are the files that Build wrote, and partsPath the one that a PartsWriter wrote. It fails if
// one is missing or damaged, or if they do not belong together.
func OpenGrouped(d disk.Disk, kind, vectorsPath, graphPath, partsPath string) (*GroupedIndex, error) {
	p, err := openParts(d, partsPath)
	if err != nil {
		return nil, err
	}
	rows, err := Open(d, kind, vectorsPath, graphPath)
	if err != nil {
		return nil, errors.Join(err, p.file.Close())
	}
	g := &GroupedIndex{rows, p}
	if rows.Len() != p.rows {
		return nil, errors.Join(
			fmt.Errorf("%s is of %d vectors, and %s has %d: rebuild them", partsPath, p.rows, vectorsPath, rows.Len()),
			g.Close(),
		)
	}
	return g, nil
}

// Len returns the number of passages.
func (g *GroupedIndex) Len() int { return g.parts.count }

// Rows returns the number of vectors.
func (g *GroupedIndex) Rows() int { return g.parts.rows }

// Dimension returns the number of elements of a vector.
func (g *GroupedIndex) Dimension() int { return g.rows.Dimension() }

// BytesPerVector returns the memory of all vectors of an average passage.
func (g *GroupedIndex) BytesPerVector() float64 {
	return 4 + g.rows.BytesPerVector()*float64(g.parts.rows)/float64(max(g.parts.count, 1))
}

// Search returns up to o.K passages, the best first, by the greatest score of their vectors. It searches the vectors
// for more candidates than o.K and scores the passages among them by all of their vectors. If they are too few, it
// searches again for twice as many. It fails if the query or o is invalid, a file is damaged or ctx ends.
func (g *GroupedIndex) Search(ctx context.Context, query []float32, o SearchOptions) ([]rank.Hit, SearchStats, error) {
	if err := errors.Join(o.checkBounds(g.Len()), g.parts.Verify(ctx)); err != nil {
		return nil, SearchStats{}, err
	}
	wanted := min(o.K, g.Len())
	rows := o
	if o.Filter != nil {
		wanted = min(wanted, o.Filter.Len())
		rows.Filter = o.Filter.rowsOf(g.parts)
	}
	var total SearchStats
	for rows.Ef = g.keptVectors(o); ; rows.Ef *= 2 {
		// Of what is kept, a few deletions may take away some: see tombstoneShare.
		rows.K = max(1, rows.Ef-rows.Ef/tombstoneShare)
		hits, stats, err := g.rows.Search(ctx, query, rows)
		if err != nil {
			return nil, total, err
		}
		total = SearchStats{Scored: total.Scored + stats.Scored, Exact: stats.Exact}
		passages := g.passagesOf(hits)
		if len(passages) < wanted && len(hits) >= rows.K {
			continue
		}
		if stats.Exact {
			return passages[:min(wanted, len(passages))], total, nil
		}
		hits, err = g.rescorePassages(query, passages, wanted)
		return hits, total, err
	}
}

// keptVectors returns how many vectors a search keeps as candidates: o.Ef or its default, and at least o.K if there are
// as many passages.
func (g *GroupedIndex) keptVectors(o SearchOptions) int {
	ef := o.Ef
	if ef <= 0 {
		ef = defaultEf(min(o.K, g.Len()))
	}
	return max(ef, min(o.K, g.Len()))
}

// passagesOf returns the passages of sorted vectors, each once, with the score of its first vector.
func (g *GroupedIndex) passagesOf(rows []rank.Hit) []rank.Hit {
	out, seen := make([]rank.Hit, 0, len(rows)), make(map[rank.Ordinal]bool, len(rows))
	for _, h := range rows {
		if o := g.parts.passage(h.Ordinal); !seen[o] {
			seen[o] = true
			out = append(out, rank.Hit{Ordinal: o, Score: h.Score})
		}
	}
	return out
}

// rescorePassages returns the k best passages by the scores of all their vectors, since a graph may have missed the
// nearest one. It returns a *DamageError if a score is not a number.
func (g *GroupedIndex) rescorePassages(query []float32, passages []rank.Hit, k int) ([]rank.Hit, error) {
	ordinals, scores := make([]rank.Ordinal, len(passages)), make([]float32, len(passages))
	for i, h := range passages {
		ordinals[i] = h.Ordinal
	}
	g.Scores(query, ordinals, scores)
	top := rank.NewTopK(k)
	for i, o := range ordinals {
		if math.IsNaN(float64(scores[i])) {
			return nil, &DamageError{
				Path: g.parts.file.Path(),
				What: fmt.Sprintf("passage %d has a score that is not a number", o),
			}
		}
		top.Push(rank.Hit{Ordinal: o, Score: scores[i]})
	}
	return top.Sorted(), nil
}

// SearchExact returns, for each query, the k passages with the greatest inner products, the best first, by comparing
// every vector. There are fewer hits if fewer passages have vectors. It fails if k is less than 1, a query has the
// wrong dimension or is not finite, the file is damaged or ctx has ended.
func (g *GroupedIndex) SearchExact(ctx context.Context, queries [][]float32, k int) ([][]rank.Hit, error) {
	if err := errors.Join(SearchOptions{K: k}.checkBounds(g.Len()), g.parts.Verify(ctx)); err != nil {
		return nil, err
	}
	wanted := min(k, g.Len())
	out := make([][]rank.Hit, len(queries))
	missing := make([]int, len(queries))
	for i := range missing {
		missing[i] = i
	}
	for kept := g.keptVectors(SearchOptions{K: k}); len(missing) > 0; kept *= 2 {
		some := make([][]float32, len(missing))
		for i, at := range missing {
			some[i] = queries[at]
		}
		found, err := g.rows.SearchExact(ctx, some, kept)
		if err != nil {
			return nil, err
		}
		var again []int
		for i, at := range missing {
			out[at] = g.passagesOf(found[i])
			if len(out[at]) < wanted && kept < g.parts.rows {
				again = append(again, at)
			}
			out[at] = out[at][:min(wanted, len(out[at]))]
		}
		missing = again
	}
	return out, nil
}

// Scores writes the scores of passages to out, which must have an element for each: the greatest inner product of the
// query with one of a passage's vectors, rank.NoVector for a passage without any. It writes NaN for one that does not
// exist, a query of another dimension, and damaged files.
func (g *GroupedIndex) Scores(query []float32, ordinals []rank.Ordinal, out []float32) {
	whole := g.parts.Verify(context.Background()) == nil
	rows := make([]rank.Ordinal, 0, 2*len(ordinals))
	for _, o := range ordinals {
		for row, end := g.parts.rowsOf(o); whole && row < end; row++ {
			rows = append(rows, row)
		}
	}
	scores := make([]float32, len(rows))
	g.rows.Scores(query, rows, scores)
	for i, o := range ordinals {
		out[i] = float32(math.NaN())
		first, end := g.parts.rowsOf(o)
		switch {
		case !whole || int64(o) >= int64(g.parts.count):
		case first == end:
			out[i] = rank.NoVector
		default:
			out[i], _ = greatestScore(scores[:end-first])
			scores = scores[end-first:]
		}
	}
}

// greatestScore returns the greatest score and its index, the first of equal ones; a NaN if there is one. scores must
// not be empty.
func greatestScore(scores []float32) (best float32, at int) {
	best = scores[0]
	for i, s := range scores {
		if s > best || math.IsNaN(float64(s)) {
			best, at = s, i
		}
	}
	return best, at
}

// Best returns the part of a passage whose vector has the greatest inner product with a query, the first of equal ones,
// and that product. It fails if the query has another dimension, there is no such passage or it has no vector, or a
// file is damaged.
func (g *GroupedIndex) Best(query []float32, o rank.Ordinal) (rank.Span, float32, error) {
	if len(query) != g.Dimension() {
		return rank.Span{}, 0, &QueryError{
			fmt.Sprintf("it has %d elements; the index holds vectors of %d", len(query), g.Dimension()),
		}
	}
	if err := g.Verify(context.Background()); err != nil {
		return rank.Span{}, 0, err
	}
	first, end := g.parts.rowsOf(o)
	if first == end {
		return rank.Span{}, 0, &QueryError{fmt.Sprintf("there is no passage %d with a vector among %d", o, g.Len())}
	}
	rows, scores := make([]rank.Ordinal, end-first), make([]float32, end-first)
	for i := range rows {
		rows[i] = first + rank.Ordinal(i)
	}
	g.rows.Scores(query, rows, scores)
	score, at := greatestScore(scores)
	return g.parts.span(rows[at]), score, nil
}

// Vector returns a copy of the vectors of a passage, one after the other; empty if it has none or does not
// exist.
func (g *GroupedIndex) Vector(o rank.Ordinal) []float32 {
	first, end := g.parts.rowsOf(o)
	out := make([]float32, 0, int(end-first)*g.Dimension())
	for ; first < end; first++ {
		out = append(out, g.rows.Vector(first)...)
	}
	return out
}

// Spans returns the parts of a passage, in the order of its vectors; nil if it has none or does not exist. It does not
// verify the file: a caller that has not searched calls Verify first.
func (g *GroupedIndex) Spans(o rank.Ordinal) (out []rank.Span) {
	first, end := g.parts.rowsOf(o)
	for ; first < end; first++ {
		out = append(out, g.parts.span(first))
	}
	return out
}

// Verify compares the checksums of all files, unless that was done. It returns a *DamageError, or ctx's error if that
// ends first; the next call goes on from there.
func (g *GroupedIndex) Verify(ctx context.Context) error {
	if err := g.parts.Verify(ctx); err != nil {
		return err
	}
	return g.rows.Verify(ctx)
}

// Check reads all files and returns an error if one is damaged.
func (g *GroupedIndex) Check() error { return errors.Join(g.rows.Check(), g.parts.Check()) }

// Close unmaps the files of the index and of the parts. It returns the errors of both.
func (g *GroupedIndex) Close() error { return errors.Join(g.rows.Close(), g.parts.file.Close()) }
