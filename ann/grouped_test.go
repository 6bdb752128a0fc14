package ann

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

// partsOf draws how passages have n vectors: 1 to most each, one of 50 ten times as many, and one of 20 none. Each
// begins where the one before begins, and some bytes later.
func partsOf(seed uint64, n, most int) (out [][]rank.Span) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for n > 0 {
		count := 1 + rng.IntN(most)
		if rng.IntN(50) == 0 {
			count *= 10
		}
		if rng.IntN(20) == 0 {
			out = append(out, nil)
		}
		spans := make([]rank.Span, min(n, count))
		for i := range spans {
			begin := uint32(7 * i)
			spans[i] = rank.Span{Begin: begin, End: begin + uint32(rng.IntN(20))}
		}
		out = append(out, spans)
		n = n - len(spans)
	}
	return out
}

// writeParts writes the parts of passages to a new file and returns its path.
func writeParts(tb testing.TB, passages [][]rank.Span) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "parts")
	w, err := CreateParts(disk.OS{}, path)
	if err != nil {
		tb.Fatal(err)
	}
	defer w.Abort()
	for _, spans := range passages {
		if err := w.Append(spans); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return path
}

// openGrouped builds and opens an index of the vectors of passages' parts.
func openGrouped(tb testing.TB, kind string, dim int, rows []float32, passages [][]rank.Span) *GroupedIndex {
	tb.Helper()
	vectors := writeVectors(tb, dim, rows)
	graph := filepath.Join(filepath.Dir(vectors), "graph")
	if err := Build(context.Background(), disk.OS{}, kind, vectors, graph,
		BuildOptions{M: 8, EfConstruction: 60}); err != nil {
		tb.Fatal(err)
	}
	x, err := OpenGrouped(disk.OS{}, kind, vectors, graph, writeParts(tb, passages))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := x.Close(); err != nil {
			tb.Error(err)
		}
	})
	return x
}

// groupedNearest returns the oracle: the k passages of the nearest vectors, by the inner
// products of all in double precision, and the place of the best vector of each.
func groupedNearest(
	dim int,
	rows, query []float32,
	passages [][]rank.Span,
	k int,
	allowed func(int) bool,
) (hits []rank.Hit, best []int) {
	var of, place []int
	for i, spans := range passages {
		for j := range spans {
			of, place = append(of, i), append(place, j)
		}
	}
	seen := map[int]bool{}
	for _, h := range nearest(dim, rows, query, len(of),
		func(row int) bool { return allowed == nil || allowed(of[row]) }) {
		if i := of[h.Ordinal]; len(hits) < k && !seen[i] {
			seen[i] = true
			hits, best = append(hits, rank.Hit{Ordinal: rank.Ordinal(i), Score: h.Score}), append(best, place[h.Ordinal])
		}
	}
	return hits, best
}

// TestGrouped compares exact searches with the oracle, with and without filters, and
// counts what a graph finds of that.
func TestGrouped(t *testing.T) {
	ctx := context.Background()
	const dim = 20
	for _, kind := range []string{Flat, HNSW} {
		for _, n := range []int{1, 3, 400, 8000} {
			rows := clustered(41, n, dim, 0.3)
			passages := partsOf(uint64(n), n, 9)
			for i := range dim { // two equal vectors, of different passages
				rows[(n-1)*dim+i] = rows[i]
			}
			x := openGrouped(t, kind, dim, rows, passages)
			if x.Len() != len(passages) || x.Rows() != n {
				t.Fatalf("%d passages of %d vectors, want %d of %d", x.Len(), x.Rows(), len(passages), n)
			}
			if err := x.Check(); err != nil {
				t.Fatal(err)
			}
			queries := slices.Collect(slices.Chunk(clustered(42, 6, dim, 0.3), dim))
			found, wanted := 0, 0
			for _, k := range []int{1, 10, 100, 10000} {
				together, err := x.SearchExact(ctx, queries, k)
				if err != nil {
					t.Fatal(err)
				}
				for i, q := range queries {
					for name, allowed := range map[string]func(int) bool{"all": nil, "most": func(i int) bool { return i%40 != 3 }, "a third": func(i int) bool { return i%3 == 0 }, "few": func(i int) bool { return i%50 == 0 }, "none": func(int) bool { return false }} {
						o := SearchOptions{K: k, Exact: true}
						if allowed != nil {
							o.Filter = NewFilter(len(passages))
							for i := range passages {
								if allowed(i) {
									o.Filter.Add(rank.Ordinal(i))
								}
							}
						}
						where := fmt.Sprintf("%s of %d, k %d, %s", kind, n, k, name)
						want, best := groupedNearest(dim, rows, q, passages, k, allowed)
						hits, stats, err := x.Search(ctx, q, o)
						if err := errors.Join(err, checkHits(x, q, hits), sameScores(hits, want)); err != nil || !stats.Exact {
							t.Fatalf("%s: %v, %+v", where, err, stats)
						}
						if allowed == nil && !slices.Equal(together[i], hits) {
							t.Fatalf("%s: with others %v, alone %v", where, together[i], hits)
						}
						for j, h := range hits[:min(3, len(hits))] {
							span, score, err := x.Best(q, h.Ordinal)
							if err != nil || score != h.Score || h.Ordinal == want[j].Ordinal && span != passages[h.Ordinal][best[j]] {
								t.Fatalf("%s: the best part of %v is %v with %v, %v", where, h, span, score, err)
							}
						}
						o.Exact = false
						near, _, err := x.Search(ctx, q, o)
						if err := errors.Join(err, checkHits(x, q, near)); err != nil || len(near) != len(want) {
							t.Fatalf("%s: %d hits of %d through the index, %v", where, len(near), len(want), err)
						}
						f, w := countFound(near, hits, k)
						found, wanted = found+f, wanted+w
					}
				}
			}
			if recall := float64(found) / float64(wanted); recall < 0.99 {
				t.Errorf("%s of %d: the index finds %.4f of the nearest passages", kind, n, recall)
			}
			if m, err := RecallOfStored(ctx, x, 50, 1); err != nil || m.At10 < 0.97 {
				t.Errorf("%s of %d: %+v, %v", kind, n, m, err)
			}
		}
	}
}

// TestGroupedWidens: where one passage has the nearest vectors by far, others are
// found all the same.
func TestGroupedWidens(t *testing.T) {
	const dim, near, n = 16, 6000, 20000
	rng := rand.New(rand.NewPCG(43, 0))
	rows := make([]float32, n*dim)
	passages := [][]rank.Span{make([]rank.Span, near)}
	for i := range n {
		rows[i*dim] = rng.Float32() / 4
		if i < near {
			rows[i*dim] = 1 + rng.Float32()
		} else {
			passages = append(passages, make([]rank.Span, 1))
		}
		for j := 1; j < dim; j++ {
			rows[i*dim+j] = rng.Float32() / 10
		}
	}
	query := make([]float32, dim)
	query[0] = 1
	x := openGrouped(t, HNSW, dim, rows, passages)
	for _, k := range []int{1, 2, 10, 100} {
		want, _ := groupedNearest(dim, rows, query, passages, k, nil)
		hits, stats, err := x.Search(t.Context(), query, SearchOptions{K: k})
		if found, wanted := countFound(hits, want, k); err != nil || len(hits) != k || hits[0].Ordinal != 0 ||
			10*found < 9*wanted {
			t.Errorf("k %d: %d of %d nearest in %v, %+v, %v", k, found, wanted, hits[:min(3, len(hits))], stats, err)
		}
	}
}

// TestPartsRefuse: what cannot be stored, and files that do not belong together.
func TestPartsRefuse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parts")
	w, err := CreateParts(disk.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	if w.Append([]rank.Span{{Begin: 2, End: 1}}) == nil {
		t.Error("a passage whose part ends before it begins")
	}
	w.Abort()
	vectors := writeVectors(t, 4, clustered(44, 9, 4, 0))
	if x, err := OpenGrouped(disk.OS{}, Flat, vectors, "", writeParts(t, partsOf(45, 8, 3))); err == nil {
		t.Errorf("9 vectors with the parts of 8: %v", x.Close())
	}
	x := openGrouped(t, Flat, 4, clustered(44, 9, 4, 0), partsOf(46, 9, 3))
	scores := make([]float32, 2)
	x.Scores([]float32{1, 0, 0, 0}, []rank.Ordinal{0, rank.Ordinal(x.Len())}, scores)
	if scores[0] != scores[0] || scores[1] == scores[1] {
		t.Errorf("scores %v; the second passage does not exist", scores)
	}
	if _, _, err := x.Best([]float32{1, 0, 0, 0}, rank.Ordinal(x.Len())); err == nil {
		t.Error("the best part of a passage that does not exist")
	}
	if _, _, err := x.Best([]float32{1}, 0); err == nil {
		t.Error("the best part for a query of another dimension")
	}
}

// TestGroupedWithoutVectors: a passage that has no vector scores rank.NoVector and is never found, and an index of such
// passages alone is no error.
func TestGroupedWithoutVectors(t *testing.T) {
	const dim = 4
	for _, kind := range []string{Flat, HNSW} {
		for rows, passages := range map[int][][]rank.Span{
			0: {nil, nil, nil},
			2: {nil, {{}}, nil, {{}}, nil},
		} {
			x := openGrouped(t, kind, dim, clustered(47, rows, dim, 0), passages)
			query := []float32{1, 2, 3, 4}
			hits, _, err := x.Search(t.Context(), query, SearchOptions{K: 10})
			if err != nil || len(hits) != rows {
				t.Errorf("%s: %d vectors, hits %v, %v", kind, rows, hits, err)
			}
			exact, err := x.SearchExact(t.Context(), [][]float32{query, query}, 10)
			if err != nil || !slices.Equal(exact[0], hits) || !slices.Equal(exact[1], hits) {
				t.Errorf("%s: %d vectors, exactly %v, %v", kind, rows, exact, err)
			}
			scores := make([]float32, len(passages))
			ordinals := make([]rank.Ordinal, len(passages))
			for i := range ordinals {
				ordinals[i] = rank.Ordinal(i)
			}
			x.Scores(query, ordinals, scores)
			for i, spans := range passages {
				if (scores[i] == rank.NoVector) != (spans == nil) || scores[i] != scores[i] {
					t.Errorf("%s: passage %d of %d scores %v", kind, i, len(passages), scores[i])
				}
				if n := len(x.Vector(ordinals[i])); n != dim*len(spans) {
					t.Errorf("%s: passage %d of %d has %d numbers", kind, i, len(passages), n)
				}
			}
			if _, _, err := x.Best(query, 0); err == nil {
				t.Errorf("%s: the best of no vectors", kind)
			}
			if m, err := RecallOfStored(t.Context(), x, 10, 1); err != nil || m.At10 != 1 || m.Queries != rows {
				t.Errorf("%s: %+v, %v", kind, m, err)
			}
			if err := x.Check(); err != nil {
				t.Error(err)
			}
		}
	}
}
