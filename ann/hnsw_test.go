package ann

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/internal/testing/golden"
)

// realVectors returns the real passages' and questions' vectors and, for each
// question, the 100 nearest passages as another program found them.
func realVectors(tb testing.TB) (passages, questions []float32, truth []uint32) {
	passages = readHalves(tb, golden.Path(tb, "vectors/passages.f16"))
	questions = readHalves(tb, golden.Path(tb, "vectors/questions.f16"))
	raw, err := os.ReadFile(golden.Path(tb, "vectors/truth100.i32"))
	if err != nil {
		tb.Fatal(err)
	}
	for i := 0; i < len(raw); i += 4 {
		truth = append(truth, binary.LittleEndian.Uint32(raw[i:]))
	}
	return passages, questions, truth
}

const realDim = 384

// TestRealVectors builds an index of the real vectors once for all that is
// promised of it.
func TestRealVectors(t *testing.T) {
	passages, questions, truth := realVectors(t)
	x := openIndex(t, HNSW, realDim, passages, BuildOptions{Seed: 1})
	if err := x.Check(); err != nil {
		t.Error(err)
	}
	t.Run("recall", func(t *testing.T) { recallOfRealVectors(t, x, questions, truth) })
	t.Run("filters", func(t *testing.T) { filtersOnRealVectors(t, x, questions) })
}

// recallOfRealVectors checks the promise of the defaults.
func recallOfRealVectors(t *testing.T, x Index, questions []float32, truth []uint32) {
	found10, found100, i := 0, 0, 0
	for q := range slices.Chunk(questions, realDim) {
		want := truth[100*i : 100*(i+1)]
		for _, k := range []int{10, 100} {
			hits, _, err := x.Search(context.Background(), q, SearchOptions{K: k})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range hits {
				if slices.Contains(want[:k], uint32(h.Ordinal)) {
					if k == 10 {
						found10++
					} else {
						found100++
					}
				}
			}
		}
		i++
	}
	at10, at100 := float64(found10)/float64(10*i), float64(found100)/float64(100*i)
	t.Logf("recall@10 %.4f, recall@100 %.4f over %d questions", at10, at100, i)
	if at10 < 0.98 || at100 < 0.98 {
		t.Errorf("recall@10 is %.4f and recall@100 %.4f; both should be at least 0.98", at10, at100)
	}
	stored, err := RecallOfStored(context.Background(), x, 200, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("of stored vectors: %+v", stored)
	if floor := Kinds()[0].Floor10; stored.At10 < floor {
		t.Errorf("recall@10 of stored vectors is %.4f, below the floor %.2f", stored.At10, floor)
	}
}

// TestRecallOfUnnormalised: lengths that differ a little or a hundredfold must
// not lose vectors.
func TestRecallOfUnnormalised(t *testing.T) {
	for _, sigma := range []float64{0, 0.2, 1} {
		x := openIndex(t, HNSW, 48, clustered(20, 12000, 48, sigma), BuildOptions{})
		queries := slices.Collect(slices.Chunk(clustered(20, 100, 48, sigma), 48))
		m, err := recallOf(context.Background(), x, queries, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("sigma %v: %+v", sigma, m)
		if m.At10 < 0.98 || m.At100 < 0.97 {
			t.Errorf("with lengths of sigma %v: %+v", sigma, m)
		}
	}
}

// TestBuildDoesNotDependOnThreads compares files, byte by byte.
func TestBuildDoesNotDependOnThreads(t *testing.T) {
	vectors := writeVectors(t, 40, clustered(22, 4000, 40, 0.3))
	build := func(name string, o BuildOptions) []byte {
		path := filepath.Join(t.TempDir(), name)
		if err := Build(context.Background(), disk.OS{}, HNSW, vectors, path, o); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	one := build("one", BuildOptions{Seed: 7, Threads: 1})
	if !bytes.Equal(one, build("five", BuildOptions{Seed: 7, Threads: 5})) {
		t.Error("five threads gave another graph than one")
	}
	if bytes.Equal(one, build("other", BuildOptions{Seed: 8, Threads: 1})) {
		t.Error("another seed gave the same graph")
	}
}

func TestBuildProgressAndCancel(t *testing.T) {
	rows := slices.Collect(slices.Chunk(clustered(23, 3000, 16, 0), 16))
	for _, kind := range vectorKinds() {
		vectors := writeLists(t, kind.Name, 16, rows)
		path := filepath.Join(t.TempDir(), "graph")
		last := 0
		err := Build(
			context.Background(),
			disk.OS{},
			kind.Name,
			vectors,
			path,
			BuildOptions{M: 8, EfConstruction: 20, Progress: func(done, total int) {
				if done <= last || done > total || total != 3000 {
					t.Errorf("%s: progress went from %d to %d of %d", kind.Name, last, done, total)
				}
				last = done
			}},
		)

		if err != nil || last != 3000 {
			t.Errorf("%s: progress ended at %d: %v", kind.Name, last, err)
		}
		if !kind.Graph {
			continue
		}
		folder := t.TempDir()
		ctx, cancel := context.WithCancel(context.Background())
		err = Build(
			ctx,
			disk.OS{},
			kind.Name,
			vectors,
			filepath.Join(folder, "graph"),
			BuildOptions{M: 8, EfConstruction: 20, Progress: func(done, _ int) {
				if done > 1000 {
					cancel()
				}
			}},
		)

		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a cancelled build says %v", kind.Name, err)
		}
		if left, _ := os.ReadDir(folder); len(left) > 0 {
			t.Errorf("%s: a cancelled build leaves %v", kind.Name, left)
		}
	}
}

// TestGraphOfOtherVectors: a graph beside vectors that it was not built from
// would give wrong neighbours without a word.
func TestGraphOfOtherVectors(t *testing.T) {
	rows := clustered(24, 500, 16, 0)
	for _, kind := range []string{HNSW, Coder} {
		graph := filepath.Join(t.TempDir(), "graph")
		if err := Build(context.Background(), disk.OS{}, kind, writeVectors(t, 16, rows), graph, BuildOptions{}); err != nil {
			t.Fatal(err)
		}
		changed := slices.Clone(rows)
		changed[100] = -changed[100]
		for name, other := range map[string][]float32{"one number changed": changed, "one vector less": rows[:499*16]} {
			if _, err := Open(disk.OS{}, kind, writeVectors(t, 16, other), graph); err == nil ||
				!strings.Contains(err.Error(), "rebuild") {
				t.Errorf("%s with %s: %v", kind, name, err)
			}
		}
		if _, err := Open(disk.OS{}, kind, writeVectors(t, 16, rows), graph); err != nil {
			t.Errorf("%s with the same vectors in another file: %v", kind, err)
		}
		if _, err := Open(disk.OS{}, kind, writeVectors(t, 16, rows), graph+"x"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s without a file: %v", kind, err)
		}
	}
}

// TestCoderFinds: the library's graph finds at least something, in order and
// scored, and is measured for what it is.
func TestCoderFinds(t *testing.T) {
	x := openIndex(t, Coder, 32, clustered(25, 3000, 32, 0.2), BuildOptions{Seed: 3})
	for q := range slices.Chunk(clustered(26, 20, 32, 0), 32) {
		hits, _, err := x.Search(context.Background(), q, SearchOptions{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		if err := checkHits(x, q, hits); err != nil || len(hits) != 10 {
			t.Fatalf("%d hits: %v", len(hits), err)
		}
	}
	m, err := RecallOfStored(context.Background(), x, 50, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", m)
	if m.At10 <= 0.02 || m.Queries != 50 {
		t.Errorf("it finds nothing: %+v", m)
	}
}

// selfish finds nothing but the vector that asks.
type selfish struct{ Index }

func (x selfish) Search(ctx context.Context, query []float32, o SearchOptions) ([]rank.Hit, SearchStats, error) {
	hits, stats, err := x.Index.Search(ctx, query, o)
	if !o.Exact {
		hits = hits[:1]
	}
	return hits, stats, err
}

func TestRecallLeavesTheAskingVectorOut(t *testing.T) {
	x := openIndex(t, Flat, 8, clustered(27, 300, 8, 0), BuildOptions{})
	m, err := RecallOfStored(context.Background(), x, 200, 1)
	if err != nil || m != (MeasuredRecall{Queries: 200, At10: 1, At100: 1}) {
		t.Errorf("exact search measures %+v: %v", m, err)
	}
	m, err = RecallOfStored(context.Background(), selfish{x}, 200, 1)
	if err != nil || m.At10 != 0 || m.At100 != 0 {
		t.Errorf("finding oneself alone measures %+v: %v", m, err)
	}
	if r, err := recallOf(context.Background(), x, [][]float32{x.Vector(3)}, nil); err != nil || r.At100 != 1 {
		t.Errorf("recall of exact search is %v: %v", r, err)
	}
	m, err = RecallOfStored(context.Background(), x, 1000, 1)
	if err != nil || m.Queries != 300 {
		t.Errorf("more queries than vectors: %+v, %v", m, err)
	}
}

// TestRecallOfEqualVectors: boilerplate gives the same vector many times. The
// copies must be found, and must not hide what lies around them.
func TestRecallOfEqualVectors(t *testing.T) {
	const dim, n = 32, 8000
	rows := clustered(21, n, dim, 0)
	for i := range n { // two groups of 1,000 and one of zeros
		switch i % 8 {
		case 0, 1:
			copy(rows[i*dim:(i+1)*dim], rows[i%8*dim:])
		case 2:
			if i%16 == 2 {
				clear(rows[i*dim : (i+1)*dim])
			}
		}
	}
	x := openIndex(t, HNSW, dim, rows, BuildOptions{})
	if err := x.Check(); err != nil {
		t.Error(err)
	}
	queries := slices.Collect(slices.Chunk(rows[:200*dim], dim))
	m, err := recallOf(context.Background(), x, queries, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", m)
	if m.At10 < 0.98 || m.At100 < 0.97 {
		t.Errorf("with many equal vectors: %+v", m)
	}
}
