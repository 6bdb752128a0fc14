package ann

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

// openIndex builds and opens an index of rows.
func openIndex(tb testing.TB, kind string, dim int, rows []float32, o BuildOptions) Index {
	tb.Helper()
	vectors := writeLists(tb, kind, dim, slices.Collect(slices.Chunk(rows, dim)))
	graph := filepath.Join(filepath.Dir(vectors), "graph")
	if err := Build(context.Background(), disk.OS{}, kind, vectors, graph, o); err != nil {
		tb.Fatal(err)
	}
	x, err := Open(disk.OS{}, kind, vectors, graph)
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

// nearest returns the oracle: every row's inner product in double precision.
func nearest(dim int, rows, query []float32, k int, allowed func(int) bool) []rank.Hit {
	type scored struct {
		row   int
		score float64
	}
	var all []scored
	for i := range len(rows) / dim {
		if allowed != nil && !allowed(i) {
			continue
		}
		sum := 0.0
		for j, q := range query {
			sum += float64(q) * float64(rows[i*dim+j])
		}
		all = append(all, scored{i, sum})
	}
	slices.SortFunc(all, func(a, b scored) int { return cmp.Or(-cmp.Compare(a.score, b.score), a.row-b.row) })
	var out []rank.Hit
	for _, s := range all[:min(k, len(all))] {
		out = append(out, rank.Hit{Ordinal: rank.Ordinal(s.row), Score: float32(s.score)})
	}
	return out
}

// sameScores holds hits against the oracle's: the same scores within
// rounding, place by place. Which of equal vectors is found may differ.
func sameScores(got, want []rank.Hit) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d hits, want %d", len(got), len(want))
	}
	for i := range want {
		if diff := math.Abs(float64(got[i].Score - want[i].Score)); diff > 1e-4*(1+math.Abs(float64(want[i].Score))) {
			return fmt.Errorf("hit %d is %v, want %v", i, got[i], want[i])
		}
	}
	return nil
}

// checkHits verifies what every search promises: order, no ordinal twice, and
// the scores that Scores gives.
func checkHits(x Index, query []float32, hits []rank.Hit) error {
	if !slices.IsSortedFunc(hits, rank.Compare) {
		return errors.New("the hits are not in order")
	}
	seen := map[rank.Ordinal]bool{}
	for _, h := range hits {
		if seen[h.Ordinal] {
			return fmt.Errorf("ordinal %d was found twice", h.Ordinal)
		}
		seen[h.Ordinal] = true
		var s [1]float32
		x.Scores(query, []rank.Ordinal{h.Ordinal}, s[:])
		if s[0] != h.Score {
			return fmt.Errorf("ordinal %d has score %v as a hit and %v by Scores", h.Ordinal, h.Score, s[0])
		}
	}
	return nil
}

func TestExactSearch(t *testing.T) {
	ctx := context.Background()
	for _, kind := range vectorKinds() {
		if kind.Tokens { // its scores are those of codes: TestLateSearch
			continue
		}
		for _, n := range []int{0, 1, 2, 5, 3000} {
			const dim = 20
			rows := clustered(2, n, dim, 0.3)
			for i := 0; i+1 < n; i += 7 { // equal vectors: their order is by ordinal
				copy(rows[(i+1)*dim:(i+2)*dim], rows[i*dim:(i+1)*dim])
			}
			x := openIndex(t, kind.Name, dim, rows, BuildOptions{M: 8, EfConstruction: 40})
			if x.Len() != n || x.Dimension() != dim {
				t.Fatalf("%s of %d vectors of %d says it is of %d of %d", kind.Name, n, dim, x.Len(), x.Dimension())
			}
			if err := x.Check(); err != nil {
				t.Error(err)
			}
			queries := slices.Collect(slices.Chunk(clustered(3, 9, dim, 1), dim))
			for _, k := range []int{1, 10, 5000} {
				for _, q := range queries {
					hits, stats, err := x.Search(ctx, q, SearchOptions{K: k, Exact: true})
					if err != nil {
						t.Fatal(err)
					}
					if err := errors.Join(checkHits(x, q, hits), sameScores(hits, nearest(dim, rows, q, k, nil))); err != nil {
						t.Fatalf("%s, %d vectors, k %d: %v", kind.Name, n, k, err)
					}
					if !stats.Exact || stats.Scored != n {
						t.Fatalf("%s: stats of an exact search of %d are %+v", kind.Name, n, stats)
					}
				}
			}
		}
	}
}

// TestSearchExactSharesPasses: many queries at once give what one at a time
// gives, to the last bit, for every remainder of the block.
func TestSearchExactSharesPasses(t *testing.T) {
	const dim, n = 33, 2500
	v, err := openVectors(disk.OS{}, writeVectors(t, dim, clustered(4, n, dim, 0.5)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	queries := slices.Collect(slices.Chunk(clustered(5, 11, dim, 1), dim))
	for count := range len(queries) + 1 {
		together, err := v.SearchExact(context.Background(), queries[:count], 50)
		if err != nil || len(together) != count {
			t.Fatalf("%d queries gave %d lists: %v", count, len(together), err)
		}
		for i, hits := range together {
			alone, _, err := flat{v}.Search(context.Background(), queries[i], SearchOptions{K: 50})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(hits, alone) {
				t.Fatalf("query %d of %d found other vectors than alone", i, count)
			}
		}
	}
}

// TestFilters holds filtered searches of every kind against the oracle, for
// sets that are wide, narrow, empty, and far from the query.
func TestFilters(t *testing.T) {
	const dim, n, k = 24, 6000, 20
	rows := clustered(6, n, dim, 0)
	queries := slices.Collect(slices.Chunk(clustered(6, 20, dim, 0), dim))
	for _, kind := range vectorKinds() {
		if kind.Tokens { // as above
			continue
		}
		x := openIndex(t, kind.Name, dim, rows, BuildOptions{})
		for name, allowed := range map[string]func(int) bool{
			"most":     func(i int) bool { return i%10 != 0 },
			"half":     func(i int) bool { return i%2 == 0 },
			"tenth":    func(i int) bool { return i%10 == 0 },
			"few":      func(i int) bool { return i%600 == 1 },
			"none":     func(int) bool { return false },
			"far away": func(i int) bool { return rows[i*dim] < -0.1 },
		} {
			f := NewFilter(n)
			for i := range n {
				if allowed(i) {
					f.Add(rank.Ordinal(i))
				}
			}
			found, wanted := 0, 0
			for _, q := range queries {
				hits, _, err := x.Search(context.Background(), q, SearchOptions{K: k, Filter: f})
				if err != nil {
					t.Fatal(err)
				}
				if err := checkHits(x, q, hits); err != nil {
					t.Fatal(err)
				}
				want := nearest(dim, rows, q, k, allowed)
				for _, h := range hits {
					if !allowed(int(h.Ordinal)) {
						t.Fatalf("%s, %s: ordinal %d is not in the filter", kind.Name, name, h.Ordinal)
					}
					if h.Score >= want[len(want)-1].Score-1e-6 {
						found++
					}
				}
				wanted += len(want)
			}
			if found < wanted*99/100 {
				t.Errorf("%s, %s: %d of %d found", kind.Name, name, found, wanted)
			}
		}
	}
}

// TestFilterFarFromTheQuery lets only those be found that are furthest away.
// The graph leads nowhere near them, which the search must notice.
func TestFilterFarFromTheQuery(t *testing.T) {
	const dim, n, k = 24, 6000, 20
	rows := clustered(12, n, dim, 0)
	query := rows[:dim]
	x := openIndex(t, HNSW, dim, rows, BuildOptions{})
	f := NewFilter(n)
	for _, h := range nearest(dim, rows, query, n, nil)[n/3:] {
		f.Add(h.Ordinal)
	}
	hits, stats, err := x.Search(context.Background(), query, SearchOptions{K: k, Filter: f})
	if err != nil {
		t.Fatal(err)
	}
	want := nearest(dim, rows, query, k, func(i int) bool { return f.Contains(rank.Ordinal(i)) })
	if err := errors.Join(checkHits(x, query, hits), sameScores(hits, want)); err != nil {
		t.Error(err)
	}
	if !stats.Exact || stats.Scored <= f.Len() {
		t.Errorf("the graph was not given up: %+v", stats)
	}
}

func TestFilterBeyondTheIndex(t *testing.T) {
	x := openIndex(t, Flat, 2, []float32{1, 2, 3, 4}, BuildOptions{})
	f := NewFilter(1000)
	var wrong *QueryError
	if hits, _, err := x.Search(context.Background(), []float32{1, 1}, SearchOptions{K: 1, Filter: f}); err != nil ||
		len(hits) != 0 {
		t.Errorf("an empty filter with more room than the index: %v, %v", hits, err)
	}
	f.Add(100)
	if _, _, err := x.Search(context.Background(), []float32{1, 1}, SearchOptions{K: 1, Filter: f}); !errors.As(
		err, &wrong,
	) {
		t.Errorf("a filter with ordinal 100 of 2: %v", err)
	}
}

func TestFilterSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	want := map[rank.Ordinal]bool{}
	f := NewFilter(10)
	for range 500 {
		o := rank.Ordinal(rng.IntN(1000))
		f.Add(o)
		want[o] = true
	}
	same := FilterOf(f.words)
	for o := range rank.Ordinal(2000) {
		if f.Contains(o) != want[o] || same.Contains(o) != want[o] {
			t.Fatalf("ordinal %d: %v, want %v", o, f.Contains(o), want[o])
		}
	}
	if f.Len() != len(want) || same.Len() != len(want) {
		t.Fatalf("%d and %d ordinals, want %d", f.Len(), same.Len(), len(want))
	}
}

func TestInvalidQueries(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, kind := range vectorKinds() {
		x := openIndex(t, kind.Name, 4, clustered(8, 50, 4, 0), BuildOptions{})
		for _, c := range []struct {
			query []float32
			k     int
		}{
			{nil, 1}, {[]float32{1, 2}, 1}, {[]float32{1, 2, 3, 4, 5}, 1},
			{[]float32{1, nan, 3, 4}, 1}, {[]float32{inf, 0, 0, 0}, 1}, {[]float32{2e38, 2e38, 2e38, 0}, 1},
			{[]float32{1, 2, 3, 4}, 0}, {[]float32{1, 2, 3, 4}, -1},
		} {
			var wrong *QueryError
			if hits, _, err := x.Search(context.Background(), c.query, SearchOptions{K: c.k}); !errors.As(err, &wrong) ||
				hits != nil {
				t.Errorf("%s: query %v, k %d gave %v and error %v", kind.Name, c.query, c.k, hits, err)
			}
		}
	}
	if _, err := Open(disk.OS{}, "tree", "", ""); err == nil {
		t.Error("an index of kind \"tree\" was opened")
	}
	if err := Build(context.Background(), disk.OS{}, "tree", "", "", BuildOptions{}); err == nil {
		t.Error("an index of kind \"tree\" was built")
	}
}

func TestCancelledSearch(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, kind := range vectorKinds() {
		x := openIndex(t, kind.Name, 8, clustered(9, 5000, 8, 0), BuildOptions{M: 8, EfConstruction: 30})
		if _, _, err := x.Search(ctx, make([]float32, 8), SearchOptions{K: 300}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: searching with a cancelled context: %v", kind.Name, err)
		}
	}
}

// TestConcurrentSearches serves the race detector, and checks that searches beside
// each other find what they find alone.
func TestConcurrentSearches(t *testing.T) {
	const dim = 16
	rows := clustered(10, 5000, dim, 0)
	queries := slices.Collect(slices.Chunk(clustered(11, 64, dim, 0), dim))
	f := NewFilter(5000)
	for i := range 2500 {
		f.Add(rank.Ordinal(2 * i))
	}
	for _, kind := range []string{Flat, HNSW} {
		x := openIndex(t, kind, dim, rows, BuildOptions{})
		ask := func(i int) []rank.Hit {
			o := SearchOptions{K: 1 + i%30, Ef: 40 + i}
			if i%3 == 0 {
				o.Filter = f
			}
			hits, _, err := x.Search(context.Background(), queries[i], o)
			if err != nil {
				t.Error(err)
			}
			return hits
		}
		alone := make([][]rank.Hit, len(queries))
		for i := range queries {
			alone[i] = ask(i)
		}
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for i := range queries {
					if !slices.Equal(ask(i), alone[i]) {
						t.Errorf("%s: query %d found something else beside other searches", kind, i)
					}
				}
			})
		}
		group.Wait()
	}
}
