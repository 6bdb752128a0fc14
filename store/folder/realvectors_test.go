package folder

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/internal/testing/golden"
	"example.org/conclave/store"
)

// readyEncoder has real vectors ready: the passage's id is its number.
type readyEncoder struct{ vectors [][]float32 }

func (e *readyEncoder) Name() string        { return "real" }
func (e *readyEncoder) Dimension() int      { return len(e.vectors[0]) }
func (e *readyEncoder) Fingerprint() string { return "real" }

func (e *readyEncoder) Late() bool { return false }

func (*readyEncoder) Parts() func(string) []rank.Span { return nil }

func (*readyEncoder) Owner() string { return "" }

func (e *readyEncoder) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	out := make([][]float32, len(passages))
	for i, p := range passages {
		n, err := strconv.Atoi(p.ID)
		if err != nil {
			return nil, err
		}
		out[i] = e.vectors[n]
	}
	return out, ctx.Err()
}

// halves reads the first n vectors of a file of half-precision numbers.
func halves(t testing.TB, name string, n int) [][]float32 {
	t.Helper()
	const dim = 384
	data, err := os.ReadFile(golden.Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]float32, n)
	for i := range out {
		out[i] = make([]float32, dim)
		for j := range out[i] {
			h := binary.LittleEndian.Uint16(data[2*(i*dim+j):])
			// Vectors of length 1 have no infinities, and what is below 2^-14 is
			// as good as 0 here.
			if exponent := uint32(h>>10) & 31; exponent > 0 {
				out[i][j] = math.Float32frombits(uint32(h>>15)<<31 | (exponent+112)<<23 | uint32(h&1023)<<13)
			}
		}
	}
	return out
}

// TestRealGraphsOverSegments: on real vectors the graphs of several segments
// find as much of the ten nearest as the graph of one, at most 0.005 less, and
// so does the graph that a merge makes, with deletions and without.
func TestRealGraphsOverSegments(t *testing.T) {
	const n, asked = 6000, 200
	e := &readyEncoder{vectors: halves(t, "vectors/passages.f16", n)}
	questions := halves(t, "vectors/questions.f16", asked)
	var passages []corpus.Passage
	for i := range n {
		passages = append(passages, corpus.Passage{ID: fmt.Sprintf("%05d", i), Text: "x"})
	}
	o := store.BuildOptions{Experts: []store.PassageEncoder{e}}
	recall := func(dir string) float64 {
		g := opened(t, dir)
		v, _ := g.Expert("real")
		found, wanted, _ := recalled(t, v, questions)
		return float64(found) / float64(wanted)
	}
	one := recall(built(t, o, passages))
	dir := built(t, o, split(72, passages, 3)...)
	check := func(name string) {
		t.Helper()
		got := recall(dir)
		t.Logf("recall@10 %.4f in one segment, %.4f %s", one, got, name)
		if got < one-0.005 {
			t.Errorf("recall@10 is %.4f in one segment and %.4f %s", one, got, name)
		}
	}
	check("in three")
	var removed []string
	for i := 0; i < n; i += 10 {
		removed = append(removed, passages[i].ID)
	}
	if _, err := Delete(t.Context(), dir, removed); err != nil {
		t.Fatal(err)
	}
	check("in three with a tenth deleted")
	mergeAll(t, dir)
	check("merged")
}
