package ann

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"example.org/conclave/internal/rank"
)

// filtersOnRealVectors: whatever share a filter allows, and whether it allows
// any vectors, those nearest to the question, those furthest from it or those
// near another vector, at most 0.005 less of the ten best is found than without
// a filter, and all of them if it allows 0.05 or less. The first shares are what tombstones leave.
func filtersOnRealVectors(t *testing.T, x Index, questions []float32) {
	const k, asked = 10, 40
	rng := rand.New(rand.NewPCG(31, 1))
	var queries [][]float32
	all := slices.Collect(slices.Chunk(questions, realDim))
	for _, i := range rng.Perm(len(all))[:asked] {
		queries = append(queries, all[i])
	}
	anyOrder := make([]uint32, x.Len())
	for i, at := range rng.Perm(x.Len()) {
		anyOrder[i] = uint32(at)
	}
	cluster := nearestFirst(x, x.Vector(rank.Ordinal(rng.IntN(x.Len()))))
	var near, far [][]uint32
	for _, q := range queries {
		order := nearestFirst(x, q)
		near = append(near, order)
		order = slices.Clone(order)
		slices.Reverse(order)
		far = append(far, order)
	}
	recall := func(filterOf func(query int) *Filter) (share float64, exact int) {
		found, wanted := 0, 0
		for i, q := range queries {
			f := filterOf(i)
			got, stats, err := x.Search(context.Background(), q, SearchOptions{K: k, Filter: f})
			if err != nil {
				t.Fatal(err)
			}
			var want []rank.Ordinal // the first that are allowed
			for _, row := range near[i] {
				if o := rank.Ordinal(row); f == nil || f.Contains(o) {
					want = append(want, o)
					if len(want) == k {
						break
					}
				}
			}
			worst := make([]float32, 1)
			x.Scores(q, want[len(want)-1:], worst)
			n := 0
			for _, h := range got {
				if h.Score >= worst[0] {
					n++
				}
			}
			if stats.Exact {
				if exact++; n != len(want) {
					t.Fatalf("query %d: a search that says it is exact found %d of %d", i, n, len(want))
				}
			}
			found, wanted = found+n, wanted+len(want)
		}
		return float64(found) / float64(wanted), exact
	}
	base, _ := recall(func(int) *Filter { return nil })
	for _, c := range []struct {
		name  string
		order func(query int) []uint32
	}{
		{"any", func(int) []uint32 { return anyOrder }},
		{"near", func(i int) []uint32 { return near[i] }},
		{"far", func(i int) []uint32 { return far[i] }},
		{"cluster", func(int) []uint32 { return cluster }},
	} {
		for _, share := range []float64{0.9995, 0.99, 0.9, 0.5, 0.2, 0.05, 0.0005} {
			got, exact := recall(func(i int) *Filter {
				f := NewFilter(x.Len())
				for _, row := range c.order(i)[:int(share*float64(x.Len()))] {
					f.Add(rank.Ordinal(row))
				}
				return f
			})
			t.Logf("%s, %v allowed: recall@10 %.4f, %d of %d exact", c.name, share, got, exact, asked)
			if got < base-0.005-0.0025 { // one hit of 400 more or less is chance
				t.Errorf("%s, %v allowed: recall@10 is %.4f, without a filter %.4f", c.name, share, got, base)
			}
			if share <= 0.05 && got < 1 { // whether all vectors were compared or all codes
				t.Errorf("%s, %v allowed: recall@10 is %.4f, where all were compared", c.name, share, got)
			}
		}
	}
}

func nearestFirst(x Index, query []float32) []uint32 {
	order, scores := make([]uint32, x.Len()), make([]float32, x.Len())
	for i := range order {
		order[i] = uint32(i)
		x.Scores(query, []rank.Ordinal{rank.Ordinal(i)}, scores[i:i+1])
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Compare(scores[b], scores[a]) })
	return order
}

// TestFewDeleted: where little is left out the graph is searched without the
// filter first; what is deleted is never found all the same, and k hits are,
// even when efSearch is no more than k.
func TestFewDeleted(t *testing.T) {
	const dim, n, k = 24, 6000, 40
	rows := clustered(13, n, dim, 0)
	x := openIndex(t, HNSW, dim, rows, BuildOptions{})
	for _, gone := range []int{0, 1, 5, 60, 187} {
		query := rows[dim : 2*dim]
		nearby := nearest(dim, rows, query, n, nil)
		f := NewFilter(n)
		for _, h := range nearby[gone:] {
			f.Add(h.Ordinal)
		}
		for _, ef := range []int{k, 0, 500} {
			hits, stats, err := x.Search(context.Background(), query, SearchOptions{K: k, Ef: ef, Filter: f, Walk: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := checkHits(x, query, hits); err != nil || len(hits) != k {
				t.Fatalf("%d deleted, ef %d: %d hits, %v", gone, ef, len(hits), err)
			}
			want := nearby[gone : gone+k]
			found := 0
			for _, h := range hits {
				if !f.Contains(h.Ordinal) {
					t.Fatalf("%d deleted, ef %d: the deleted %d was found", gone, ef, h.Ordinal)
				}
				if h.Score >= want[k-1].Score-1e-6 {
					found++
				}
			}
			if ef != k && found < k-1 {
				t.Errorf("%d deleted, ef %d: %d of %d found: %+v", gone, ef, found, k, stats)
			}
		}
	}
}
