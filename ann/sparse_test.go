package ann

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

// someWeights returns a list of some of the word pieces, the lower ones more often.
func someWeights(random *rand.Rand, most int) (vector []float32) {
	ids := map[int]bool{}
	for range random.IntN(most + 1) {
		ids[int(math.Pow(random.Float64(), 3)*5000)] = true
	}
	for id := range 5000 {
		if ids[id] {
			vector = append(vector, float32(id), float32(.004+random.ExpFloat64()*.7))
		}
	}
	return vector
}

// sparseOf builds an index of lists in a folder of its own.
func sparseOf(t *testing.T, lists [][]float32) (index Index, vectors, graph string) {
	t.Helper()
	dir := t.TempDir()
	vectors, graph = filepath.Join(dir, "v"), filepath.Join(dir, "g")
	w, err := Create(disk.OS{}, Sparse, vectors, pairNumbers)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lists {
		if err := w.Append(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Build(t.Context(), disk.OS{}, Sparse, vectors, graph, BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	index, err = Open(disk.OS{}, Sparse, vectors, graph)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = index.Close() })
	return index, vectors, graph
}

// TestSparseIsExact: searches find what comparing all lists finds, by the weights in steps of 1/64, with and without a
// filter; the scores are those of Scores, to the last bit.
func TestSparseIsExact(t *testing.T) {
	const seed, n = 5, 9000 // of several windows of postings
	random := rand.New(rand.NewPCG(seed, 1))
	lists := make([][]float32, n)
	for i := range lists {
		lists[i] = someWeights(random, 60)
	}
	x, _, _ := sparseOf(t, lists)
	if x.Len() != n || x.Dimension() != 2 || x.Check() != nil {
		t.Fatalf("%d lists of pairs of %d, %v", x.Len(), x.Dimension(), x.Check())
	}
	product := func(query, list []float32) (sum float64) {
		for q := range slices.Chunk(query, 2) {
			for p := range slices.Chunk(list, 2) {
				if p[0] == q[0] {
					sum += float64(q[1]) * min(math.Round(float64(p[1])*64), 255) / 64
				}
			}
		}
		return sum
	}
	few := NewFilter(n)
	for range n / 20 {
		few.Add(rank.Ordinal(random.IntN(n)))
	}
	for round := range 60 {
		query := someWeights(random, 1+round%25)
		o := SearchOptions{K: 1 + random.IntN(40)}
		if round%3 == 1 {
			o.Filter = few
		}
		hits, stats, err := x.Search(t.Context(), query, o)
		if err != nil || !stats.Exact {
			t.Fatalf("seed %d: %v", seed, err)
		}
		type scored struct {
			o     int
			score float64
		}
		var want []scored
		for i, l := range lists {
			if s := product(query, l); s > 0 && (o.Filter == nil || few.Contains(rank.Ordinal(i))) {
				want = append(want, scored{i, s})
			}
		}
		slices.SortStableFunc(want, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
		want = want[:min(o.K, len(want))]
		if len(hits) != len(want) {
			t.Fatalf("seed %d, round %d: %d hits, want %d", seed, round, len(hits), len(want))
		}
		for i, h := range hits {
			if math.Abs(float64(h.Score)-want[i].score) > 1e-4*want[i].score {
				t.Errorf("seed %d, round %d: hit %d scores %v, want %v", seed, round, i, h.Score, want[i].score)
			}
			var again [1]float32
			x.Scores(query, []rank.Ordinal{h.Ordinal}, again[:])
			if again[0] != h.Score {
				t.Errorf("seed %d, round %d: Scores says %v, Search %v", seed, round, again[0], h.Score)
			}
			if i > 0 && rank.Compare(hits[i-1], h) >= 0 {
				t.Errorf("seed %d, round %d: %v before %v", seed, round, hits[i-1], h)
			}
		}
	}
	out := make([]float32, 2)
	if x.Scores(nil, []rank.Ordinal{1, n}, out); out[0] != 0 || out[1] == out[1] {
		t.Errorf("no word pieces, and an ordinal beyond: %v", out)
	}
	if hits, _, err := x.Search(t.Context(), nil, SearchOptions{K: 3}); len(hits) != 0 || err != nil {
		t.Errorf("no word pieces: %v, %v", hits, err)
	}
	for _, wrong := range [][]float32{{1}, {2, 1, 2, 1}, {3, 1, 2, 1}, {1, 0}, {1, -1}, {1.5, 1}, {1 << 24, 1},
		{1, float32(math.NaN())}} {
		if _, _, err := x.Search(t.Context(), wrong, SearchOptions{K: 3}); err == nil {
			t.Errorf("%v was searched for", wrong)
		}
	}
}

// TestSparseVectorsAreTheSame: appending what is stored writes the same bytes; damage is told, and never a wrong
// answer.
func TestSparseVectorsAreTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 1))
	lists := [][]float32{nil, {0, 3.99, 7, 9, 4999, .003}}
	for range 50 {
		lists = append(lists, someWeights(random, 30))
	}
	x, vectors, graph := sparseOf(t, lists)
	if got, want := x.Vector(1), []float32{0, 255. / 64, 7, 255. / 64}; !slices.Equal(got, want) || len(x.Vector(0)) != 0 {
		t.Errorf("%v, by hand %v", got, want)
	}
	var again [][]float32
	for i := range lists {
		again = append(again, slices.Clone(x.Vector(rank.Ordinal(i))))
	}
	_, vectors2, graph2 := sparseOf(t, again)
	for _, files := range [][2]string{{vectors, vectors2}, {graph, graph2}} {
		a, err1 := os.ReadFile(files[0])
		b, err2 := os.ReadFile(files[1])
		if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v, %v", files[0], err1, err2)
		}
	}
	for _, path := range []string{vectors, graph} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		query := lists[5]
		want, _, err := x.Search(context.Background(), query, SearchOptions{K: 5})
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < len(data); at += max(1, len(data)/300) {
			broken := slices.Clone(data)
			broken[at] ^= 0x10
			other := filepath.Join(t.TempDir(), "x")
			if err := os.WriteFile(other, broken, 0o600); err != nil {
				t.Fatal(err)
			}
			v, g := vectors, graph
			if path == vectors {
				v = other
			} else {
				g = other
			}
			y, err := Open(disk.OS{}, Sparse, v, g)
			if err != nil {
				continue
			}
			got, _, err := y.Search(context.Background(), query, SearchOptions{K: 5})
			if err == nil && !slices.Equal(got, want) {
				t.Errorf("byte %d of %s: %v, want %v", at, filepath.Base(path), got, want)
			}
			_ = y.Close()
		}
	}
}
