package ann

import (
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/ann/kernel"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

// writeVectors writes rows to a new file and returns its path.
func writeVectors(tb testing.TB, dim int, rows []float32) string {
	tb.Helper()
	return writeLists(tb, Flat, dim, slices.Collect(slices.Chunk(rows, dim)))
}

// writeLists writes the vectors of an index of a kind to a new file and returns
// its path.
func writeLists(tb testing.TB, kind string, dim int, rows [][]float32) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "vectors")
	w, err := Create(disk.OS{}, kind, path, dim)
	if err != nil {
		tb.Fatal(err)
	}
	defer w.Abort()
	for i, row := range rows {
		if w.Len() != i {
			tb.Fatalf("%d vectors after %d were appended", w.Len(), i)
		}
		if err := w.Append(row); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return path
}

// clustered makes n unit vectors around centres, as texts on some topics are:
// random directions alone have no near neighbours. Each vector's length is
// then drawn from a log-normal distribution with the given sigma. Elements have half
// precision, so that a file keeps them.
func clustered(seed uint64, n, dim int, sigma float64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 0))
	centres := make([]float64, max(1, n/50)*dim)
	for i := range centres {
		centres[i] = rng.NormFloat64()
	}
	out := make([]float32, 0, n*dim)
	for range n {
		c := centres[rng.IntN(len(centres)/dim)*dim:][:dim]
		v := make([]float64, dim)
		square := 0.0
		for j := range v {
			v[j] = c[j] + 0.7*rng.NormFloat64()
			square += v[j] * v[j]
		}
		length := math.Exp(sigma * rng.NormFloat64())
		for _, x := range v {
			out = append(out, kernel.RoundHalf(float32(x/math.Sqrt(square)*length)).Float())
		}
	}
	return out
}

func TestVectorsComeBack(t *testing.T) {
	for _, dim := range []int{1, 3, 16, 384} {
		for _, n := range []int{0, 1, 1000} {
			rows := clustered(1, n, dim, 1)
			v, err := openVectors(disk.OS{}, writeVectors(t, dim, rows))
			if err != nil {
				t.Fatal(err)
			}
			if v.Len() != n || v.Dimension() != dim {
				t.Fatalf("%d vectors of %d came back as %d of %d", n, dim, v.Len(), v.Dimension())
			}
			for i := range n {
				if !slices.Equal(v.Vector(rank.Ordinal(i)), rows[i*dim:(i+1)*dim]) {
					t.Fatalf("vector %d differs", i)
				}
			}
			if err := v.Check(); err != nil {
				t.Error(err)
			}
			if err := v.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		vector []float32
		want   string
	}{
		{[]float32{1}, "has 1 elements, the file is of dimension 2"},
		{[]float32{1, float32(math.NaN())}, "element 1 is NaN"},
		{[]float32{inf, 0}, "element 0 is +Inf"},
		{[]float32{-inf, inf}, "element 0 is -Inf"},
		{[]float32{1, -65520}, "element 1 is -65520; every element must be a finite number of at most 65504"},
	} {
		w, err := createVectors(disk.OS{}, filepath.Join(t.TempDir(), "v"), 2)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Append(c.vector); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("appending %v: %v, want an error with %q", c.vector, err, c.want)
		}
		w.Abort()
	}
	for _, dim := range []int{-1, 0, maxDimension + 1} {
		if _, err := createVectors(disk.OS{}, filepath.Join(t.TempDir(), "v"), dim); err == nil {
			t.Errorf("dimension %d was accepted", dim)
		}
	}
}

// TestVectorsAppearWhole looks into the folder while a file is written, after
// it was given up, and after it was finished.
func TestVectorsAppearWhole(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "v")
	begin := func() Writer {
		w, err := createVectors(disk.OS{}, path, 2)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Append([]float32{1, 2}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the file has its name before it is finished: %v", err)
		}
		return w
	}
	begin().Abort()
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("%d files are left after giving up", len(left))
	}
	w := begin()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.Abort() // as a deferred call would: must not remove the file
	if left, _ := os.ReadDir(folder); len(left) != 1 || left[0].Name() != "v" {
		t.Errorf("the folder holds %v", left)
	}
	if err := w.Close(); err == nil {
		t.Error("a writer was closed twice without a word")
	}
}

func TestScores(t *testing.T) {
	v, err := openVectors(disk.OS{}, writeVectors(t, 2, []float32{1, 2, 3, 4}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	out := make([]float32, 3)
	v.Scores([]float32{10, 1}, []rank.Ordinal{1, 0, 2}, out)
	if out[0] != 34 || out[1] != 12 || out[2] == out[2] {
		t.Errorf("scores are %v, want 34, 12 and not a number", out)
	}
	v.Scores([]float32{10}, []rank.Ordinal{1}, out)
	if out[0] == out[0] {
		t.Errorf("a query of another dimension scored %v", out[0])
	}
}

// TestScoresOfMany: many at once are what each is alone, also beside ordinals
// that do not exist.
func TestScoresOfMany(t *testing.T) {
	const dim, rows = 37, 300
	random := rand.New(rand.NewPCG(1, 7))
	all := make([]float32, dim*rows)
	for i := range all {
		all[i] = kernel.RoundHalf(random.Float32() - .5).Float()
	}
	v, err := openVectors(disk.OS{}, writeVectors(t, dim, all))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	query := all[:dim]
	for _, beyond := range []bool{false, true} {
		ordinals := make([]rank.Ordinal, 1000)
		for i := range ordinals {
			ordinals[i] = rank.Ordinal(random.IntN(rows))
			if beyond && i%97 == 0 {
				ordinals[i] += rows
			}
		}
		out, one := make([]float32, len(ordinals)), make([]float32, 1)
		v.Scores(query, ordinals, out)
		for i, o := range ordinals {
			if v.Scores(query, []rank.Ordinal{o}, one); one[0] != out[i] && (one[0] == one[0] || out[i] == out[i]) {
				t.Fatalf("ordinal %d scores %v among others and %v alone", o, out[i], one[0])
			}
			if int(o) >= rows {
				if out[i] == out[i] {
					t.Fatalf("ordinal %d of %d scores %v", o, rows, out[i])
				}
				continue
			}
			sum := 0.0
			for j := range dim {
				sum += float64(query[j]) * float64(all[int(o)*dim+j])
			}
			if !(math.Abs(sum-float64(out[i])) <= 1e-4) {
				t.Fatalf("ordinal %d scores %v, the sum is %v", o, out[i], sum)
			}
		}
	}
}
