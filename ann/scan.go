package ann

import (
	"context"
	"fmt"
	"math"

	"example.org/conclave/ann/kernel"
	"example.org/conclave/internal/rank"
)

// scanRows is how many rows are compared between two checks of the context, in some
// hundred microseconds. Their scores fit in the first-level cache.
const scanRows = 1024

// scanVectors returns the o.K best vectors, the best first, by comparing the query with all that o.Filter lets
// through. It fails if ctx ends or a stored vector gives no number.
func (v *Vectors) scanVectors(ctx context.Context, query []float32, o SearchOptions) ([]rank.Hit, SearchStats, error) {
	if o.Filter != nil {
		return v.scanFilter(ctx, query, o)
	}
	top := rank.NewTopK(min(o.K, v.count))
	scores := make([]float32, min(scanRows, v.count))
	for low := 0; low < v.count; low += scanRows {
		if err := ctx.Err(); err != nil {
			return nil, SearchStats{}, err
		}
		part := scores[:min(scanRows, v.count-low)]
		v.kernels.DotRows(query, v.rows[low*v.dim:], part)
		pushScores(top, low, part, 0, 1)
	}
	hits, err := v.sortedHits(top.Sorted())
	return hits, SearchStats{Scored: v.count, Exact: true}, err
}

// scanFilter returns the o.K best of the vectors that o.Filter lets through, which must not be nil, by comparing the
// query with each. It fails if ctx ends or a stored vector gives no number.
func (v *Vectors) scanFilter(ctx context.Context, query []float32, o SearchOptions) ([]rank.Hit, SearchStats, error) {
	ids := o.Filter.appendOrdinals(v.count, make([]uint32, 0, o.Filter.Len()))
	top := rank.NewTopK(min(o.K, len(ids)))
	scores := make([]float32, min(scanRows, len(ids)))
	for rest := ids; len(rest) > 0; rest = rest[min(scanRows, len(rest)):] {
		if err := ctx.Err(); err != nil {
			return nil, SearchStats{}, err
		}
		part := rest[:min(scanRows, len(rest))]
		v.kernels.DotGather(query, v.rows, part, scores)
		for i, id := range part {
			top.Push(rank.Hit{Ordinal: rank.Ordinal(id), Score: scores[i]})
		}
	}
	hits, err := v.sortedHits(top.Sorted())
	return hits, SearchStats{Scored: len(ids), Exact: true}, err
}

// pushScores pushes every step-th score to top, beginning with scores[first]. The first of them is that of vector
// low, the next that of vector low+1.
func pushScores(top *rank.TopK, low int, scores []float32, first, step int) {
	threshold := top.Threshold()
	for i := first; i < len(scores); i += step {
		if scores[i] < threshold {
			continue
		}
		if top.Push(rank.Hit{Ordinal: rank.Ordinal(low + i/step), Score: scores[i]}) {
			threshold = top.Threshold()
		}
	}
}

// SearchExact returns the k best vectors of each query, the best first, by comparing all with all. Four queries share
// a pass over the vectors, which for large files limits an exact search. Hits and their order are those of Search
// with Exact, to the last bit. It fails if a query or k is invalid, the file is damaged or ctx ends.
func (v *Vectors) SearchExact(ctx context.Context, queries [][]float32, k int) ([][]rank.Hit, error) {
	for _, q := range queries {
		if err := v.checkQuery(q, SearchOptions{K: k}); err != nil {
			return nil, err
		}
	}
	if err := v.Verify(ctx); err != nil {
		return nil, err
	}
	out := make([][]rank.Hit, 0, len(queries))
	block := make([]float32, kernel.Block*v.dim)
	scores := make([]float32, kernel.Block*min(scanRows, max(v.count, 1)))
	tops := [kernel.Block]*rank.TopK{}
	for i := range tops {
		tops[i] = rank.NewTopK(0)
	}
	for len(queries) > 0 {
		n := min(kernel.Block, len(queries))
		for i := range n {
			copy(block[i*v.dim:], queries[i])
			tops[i].Reset(min(k, v.count))
		}
		for low := 0; low < v.count; low += scanRows {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			part := scores[:kernel.Block*min(scanRows, v.count-low)]
			v.kernels.DotBlock(block, v.rows[low*v.dim:], v.dim, part)
			for i := range n {
				pushScores(tops[i], low, part, i, kernel.Block)
			}
		}
		for i := range n {
			hits, err := v.sortedHits(tops[i].Sorted())
			if err != nil {
				return nil, err
			}
			out = append(out, hits)
		}
		queries = queries[n:]
	}
	return out, nil
}

// sortedHits returns the hits in top, sorted. It fails if a score is NaN, which only damaged vectors give.
func (v *Vectors) sortedHits(hits []rank.Hit) ([]rank.Hit, error) {
	for _, h := range hits {
		if math.IsNaN(float64(h.Score)) {
			return nil, fmt.Errorf(
				"vector %d of %s gives a score that is not a number: the file is damaged; verify it and rebuild it",
				h.Ordinal, v.file.Path(),
			)
		}
	}
	return hits, nil
}

// flat is no index at all: every search compares the query with every vector.
// It is exact, needs no file but the vectors, and its time is that of reading
// them once.
type flat struct{ *Vectors }

// BytesPerVector returns the size of a vector.
func (f flat) BytesPerVector() float64 { return float64(2 * f.dim) }

// Search returns up to o.K hits, the best first. It always compares all vectors that the filter lets through: o.Ef
// and o.Exact change nothing. It fails if the query or o is invalid (checkQuery), the file is damaged or ctx ends.
func (f flat) Search(ctx context.Context, query []float32, o SearchOptions) ([]rank.Hit, SearchStats, error) {
	if err := f.checkQuery(query, o); err != nil {
		return nil, SearchStats{}, err
	}
	if err := f.Verify(ctx); err != nil {
		return nil, SearchStats{}, err
	}
	return f.scanVectors(ctx, query, o)
}
