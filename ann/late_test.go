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

	"example.org/conclave/ann/kernel"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

// tokenLists makes n lists of 1 to most unit token vectors, all drawn from some
// clusters, as the tokens of a language are.
func tokenLists(seed uint64, n, dim, most int) [][]float32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	words := clustered(seed, 500, dim, 0)
	lists := make([][]float32, n)
	for i := range lists {
		for range 1 + rng.IntN(most) {
			at := rng.IntN(500) * dim
			lists[i] = append(lists[i], words[at:at+dim]...)
		}
	}
	return lists
}

// askedOf makes questions of 1 to most tokens of any length.
func askedOf(seed uint64, n, dim, most int) [][]float32 {
	rng := rand.New(rand.NewPCG(seed, 2))
	out := tokenLists(seed, n, dim, most)
	for _, q := range out {
		for token := range slices.Chunk(q, dim) {
			weight := float32(math.Exp(rng.NormFloat64()))
			for i := range token {
				token[i] *= weight
			}
		}
	}
	return out
}

func openLists(tb testing.TB, dim int, lists [][]float32) Index {
	tb.Helper()
	path := writeLists(tb, Late, dim, lists)
	if err := Build(context.Background(), disk.OS{}, Late, path, "", BuildOptions{}); err != nil {
		tb.Fatal(err)
	}
	x, err := Open(disk.OS{}, Late, path, "")
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

// lateScore returns the definition of a score: the levels of the passage's tokens as codes give them
// (kernel.DecodeTokens), the question's own rounding to codes, and products of whole numbers. Only the last sum, which
// is part of the definition, is of floats.
func lateScore(question, passage []float32, dim int) float32 {
	levels := func(vector []float32) []int {
		blocks := make([]byte, kernel.TokenBytes(1, dim))
		kernel.EncodeTokens(vector, dim, blocks)
		out := make([]int, dim)
		for d := range out {
			// the first token of a block is in the lowest bits of its bytes 0 to 3
			out[d] = []int{-63, -19, 19, 63}[blocks[d/4*16+d%4]&3]
		}
		return out
	}
	var stored [][]int
	for p := range slices.Chunk(passage, dim) {
		stored = append(stored, levels(p))
	}
	score := float32(0)
	for i := range len(question) / dim {
		codes, scales, err := CodeQuestion(question[i*dim:(i+1)*dim], dim)
		if err != nil {
			panic(err)
		}
		best := math.MinInt
		for _, p := range stored {
			sum := 0
			for d, x := range codes {
				sum += int(x) * p[d]
			}
			best = max(best, sum)
		}
		score += float32(scales[0] * float32(best))
	}
	return score
}

// lateNearest returns the oracle: every list compared by the definition.
func lateNearest(lists [][]float32, question []float32, dim, k int, allowed func(int) bool) []rank.Hit {
	var all []rank.Hit
	for i, list := range lists {
		if allowed == nil || allowed(i) {
			all = append(all, rank.Hit{Ordinal: rank.Ordinal(i), Score: lateScore(question, list, dim)})
		}
	}
	slices.SortFunc(all, func(a, b rank.Hit) int {
		return cmp.Or(-cmp.Compare(a.Score, b.Score), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	return all[:min(k, len(all))]
}

// TestLateSearch: every way of asking gives what the definition gives, to the
// last bit and with equal scores by ordinal.
func TestLateSearch(t *testing.T) {
	ctx := context.Background()
	for _, dim := range []int{4, 64, 132} {
		for _, n := range []int{0, 1, 5, 120} {
			lists := tokenLists(40, n, dim, 40)
			for i := 0; i+1 < n; i += 7 { // equal lists
				lists[i+1] = lists[i]
			}
			x := openLists(t, dim, lists)
			if x.Len() != n || x.Dimension() != dim {
				t.Fatalf("%d lists of %d: it says %d of %d", n, dim, x.Len(), x.Dimension())
			}
			if err := errors.Join(x.Verify(ctx), x.Check()); err != nil {
				t.Error(err)
			}
			queries := askedOf(41, 9, dim, 13)
			for _, k := range []int{1, 10, 500} {
				together, err := x.SearchExact(ctx, queries, k)
				if err != nil || len(together) != len(queries) {
					t.Fatalf("%d queries gave %d lists: %v", len(queries), len(together), err)
				}
				for i, q := range queries {
					hits, stats, err := x.Search(ctx, q, SearchOptions{K: k})
					if err != nil || !stats.Exact || stats.Scored != n {
						t.Fatalf("%+v, %v", stats, err)
					}
					if err := checkHits(x, q, hits); err != nil {
						t.Fatal(err)
					}
					want := lateNearest(lists, q, dim, k, nil)
					if !slices.Equal(hits, want) || !slices.Equal(together[i], want) {
						t.Fatalf("dim %d, %d lists, k %d: %v and %v together, want %v", dim, n, k, hits, together[i], want)
					}
				}
			}
		}
	}
}

// TestLateFilters: only what a filter has is found, and of that the best.
func TestLateFilters(t *testing.T) {
	const dim, n = 16, 300
	lists := tokenLists(42, n, dim, 20)
	x := openLists(t, dim, lists)
	for name, allowed := range map[string]func(int) bool{
		"all":   func(int) bool { return true },
		"half":  func(i int) bool { return i%2 == 0 },
		"few":   func(i int) bool { return i%100 == 1 },
		"none":  func(int) bool { return false },
		"ninth": func(i int) bool { return i%9 == 8 },
	} {
		f := NewFilter(n)
		for i := range n {
			if allowed(i) {
				f.Add(rank.Ordinal(i))
			}
		}
		for _, q := range askedOf(43, 5, dim, 8) {
			hits, stats, err := x.Search(context.Background(), q, SearchOptions{K: 12, Filter: f})
			if err != nil || stats.Scored != f.Len() || !stats.Exact {
				t.Fatalf("%s: %+v, %v", name, stats, err)
			}
			if want := lateNearest(lists, q, dim, 12, allowed); !slices.Equal(hits, want) {
				t.Fatalf("%s: %v, want %v", name, hits, want)
			}
		}
	}
	beyond := NewFilter(n)
	beyond.Add(n + 200)
	var wrong *QueryError
	if _, _, err := x.Search(context.Background(), lists[0], SearchOptions{K: 1, Filter: beyond}); !errors.As(
		err, &wrong,
	) {
		t.Errorf("a filter beyond the index: %v", err)
	}
}

// TestLateScores: what does not exist or cannot be asked has no score, also
// beside what has; and many goroutines at once get what one gets.
func TestLateScores(t *testing.T) {
	const dim, n = 64, 200
	lists := tokenLists(44, n, dim, 50)
	x := openLists(t, dim, lists)
	rng := rand.New(rand.NewPCG(45, 0))
	ordinals := make([]rank.Ordinal, 350)
	for i := range ordinals {
		ordinals[i] = rank.Ordinal(rng.IntN(n))
		if i%50 == 7 {
			ordinals[i] += n + rank.Ordinal(rng.Uint32()>>1)
		}
	}
	queries := askedOf(46, 12, dim, 30)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			out := make([]float32, len(ordinals))
			for _, q := range queries {
				x.Scores(q, ordinals, out)
				for i, o := range ordinals {
					if int(o) >= n {
						if out[i] == out[i] {
							t.Errorf("ordinal %d of %d scores %v", o, n, out[i])
						}
					} else if want := lateScore(q, lists[o], dim); out[i] != want {
						t.Errorf("ordinal %d scores %v, want %v", o, out[i], want)
					}
				}
			}
		})
	}
	group.Wait()
	nan := make([]float32, dim)
	nan[5] = float32(math.NaN())
	for name, q := range map[string][]float32{
		"nothing": nil, "part of a token": queries[0][:dim-4], "more than a token": append(slices.Clone(queries[0]), 1),
		"513 tokens": make([]float32, 513*dim), "not a number": nan,
	} {
		out := []float32{1, 1}
		if x.Scores(q, []rank.Ordinal{0, 1}, out); out[0] == out[0] || out[1] == out[1] {
			t.Errorf("%s scores %v", name, out)
		}
	}
	if x.Scores(make([]float32, 512*dim), []rank.Ordinal{0}, nan); nan[0] != 0 {
		t.Errorf("512 tokens of zeros score %v", nan[0])
	}
}

// TestLateWithoutVectors: a list without token vectors takes no bytes, scores rank.NoVector and is never found.
func TestLateWithoutVectors(t *testing.T) {
	const dim = 64
	lists := tokenLists(49, 40, dim, 20)
	for i := range lists {
		if i%3 != 1 {
			lists[i] = nil
		}
	}
	x := openLists(t, dim, lists)
	query := askedOf(50, 1, dim, 8)[0]
	ordinals, scores := make([]rank.Ordinal, len(lists)), make([]float32, len(lists))
	for i := range ordinals {
		ordinals[i] = rank.Ordinal(i)
	}
	x.Scores(query, ordinals, scores)
	with := 0
	for i, list := range lists {
		want := rank.NoVector
		if list != nil {
			want = lateScore(query, list, dim)
			with++
		}
		if scores[i] != want || (len(x.Vector(ordinals[i])) > 0) != (list != nil) {
			t.Errorf("list %d scores %v, want %v", i, scores[i], want)
		}
	}
	hits, _, err := x.Search(t.Context(), query, SearchOptions{K: len(lists)})
	if err != nil || len(hits) != with {
		t.Errorf("%d hits of %d lists, %v", len(hits), with, err)
	}
	if err := x.Check(); err != nil {
		t.Error(err)
	}
}

// BenchmarkLateScores scores 350 passages of 145 tokens here and there in a file
// for a question of 12 tokens of 64 numbers: what a question asks for. The small
// file stays in the processor's caches, the large one does not.
func BenchmarkLateScores(b *testing.B) {
	const dim, tokens, asks, scored = 64, 145, 12, 350
	for _, n := range []int{1000, 20000} {
		rng := rand.New(rand.NewPCG(48, 0))
		words := clustered(49, 5000, dim, 0)
		path := filepath.Join(b.TempDir(), "vectors")
		w, err := Create(disk.OS{}, Late, path, dim)
		if err != nil {
			b.Fatal(err)
		}
		for range n {
			at := rng.IntN(5000-tokens) * dim
			if err := w.Append(words[at : at+tokens*dim]); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		x, err := openLate(disk.OS{}, path)
		if err != nil {
			b.Fatal(err)
		}
		draws := make([][]rank.Ordinal, 64)
		for i := range draws {
			for range scored {
				draws[i] = append(draws[i], rank.Ordinal(rng.IntN(n)))
			}
		}
		query := words[:asks*dim]
		out := make([]float32, scored)
		for _, set := range kernel.All() {
			b.Run(fmt.Sprintf("%s/%d", set.Name(), n), func(b *testing.B) {
				x.kernels = set
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					x.Scores(query, draws[i%len(draws)], out)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(asks*tokens*scored), "ns/pair")
			})
		}
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// TestSimilarity: a list that is not stored has the score that it would have, and what
// cannot be compared is refused.
func TestSimilarity(t *testing.T) {
	for _, dim := range []int{4, 64, 132} {
		lists := tokenLists(50, 20, dim, 40)
		for _, question := range askedOf(51, 5, dim, 20) {
			for _, list := range lists {
				if got, err := Similarity(question, list, dim); err != nil || got != lateScore(question, list, dim) {
					t.Errorf("%v, %v, want %v", got, err, lateScore(question, list, dim))
				}
			}
		}
	}
	good := make([]float32, 8)
	bad := []float32{1, 2, 3, float32(math.NaN())}
	for name, c := range map[string]struct {
		question, list []float32
		dim            int
	}{
		"no question": {nil, good, 4}, "no list": {good, nil, 4}, "half a token": {good, good[:6], 4},
		"dimension": {good, good, 3},
		"no number": {good, bad, 4}, "too long": {make([]float32, 4*(maxQuestionTokens+1)), good, 4},
	} {
		if got, err := Similarity(c.question, c.list, c.dim); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}
