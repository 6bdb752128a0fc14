package folder

import (
	"context"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/ann"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
)

// weighingEncoder gives every word of a passage a weight by its length, as a sparse encoder gives them to word pieces.
type weighingEncoder struct {
	hashEncoder
	odd bool // gives lists of no pairs
}

func (e *weighingEncoder) Sparse() bool { return true }

func (e *weighingEncoder) EncodePassages(ctx context.Context, passages []corpus.Passage) (out [][]float32, err error) {
	for _, p := range passages {
		out = append(out, e.pairs(p.Title+" "+p.Text))
		if e.odd {
			out[len(out)-1] = append(out[len(out)-1], 7)
		}
	}
	return out, ctx.Err()
}

// weights returns multiples of the step of stored ones, so that the sums by hand are exact.
func (e *weighingEncoder) weights(text string) map[int]float64 {
	weights := map[int]float64{}
	for word := range strings.FieldsSeq(text) {
		if word == "unreadable" {
			continue
		}
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(word))
		weights[int(hash.Sum32()%30522)] = float64(8+len(word)) / 64
	}
	return weights
}

func (e *weighingEncoder) pairs(text string) (out []float32) {
	weights := e.weights(text)
	for id := range 30522 {
		if w := weights[id]; w > 0 {
			out = append(out, float32(id), float32(w))
		}
	}
	return out
}

// TestSparse: an expert that weighs word pieces comes with a build, joins two segments, grows, merges and is verified
// like the others, and its hits and scores do not depend on how the passages are divided.
func TestSparse(t *testing.T) {
	dense := &hashEncoder{name: "base", dimension: 8}
	x := &weighingEncoder{hashEncoder: hashEncoder{name: "splade", dimension: 2}}
	passages := randomPassages(62, 200)
	passages[11].Title, passages[11].Text = "", "unreadable"
	const question = "word1 word7 word30 title2"
	asked := x.weights(question)
	check := func(name, dir string, segments int, removed ...string) {
		t.Helper()
		g := opened(t, dir)
		v, ok := g.Expert("splade")
		if !ok || g.Segments() != segments {
			t.Fatalf("%s: %d segments", name, g.Segments())
		}
		want := map[string]float64{}
		for _, p := range passages {
			sum := 0.0
			for id, w := range x.weights(p.Title + " " + p.Text) {
				sum += w * asked[id]
			}
			if sum > 0 && !slices.Contains(removed, p.ID) {
				want[p.ID] = sum
			}
		}
		hits, err := v.Search(t.Context(), x.pairs(question), 300, false)
		if err != nil || len(hits) != len(want) {
			t.Fatalf("%s: %d hits, by hand %d, %v", name, len(hits), len(want), err)
		}
		last := math.Inf(1)
		for _, h := range hits {
			p, err := g.Passage(h.Ordinal)
			if err != nil || math.Abs(want[p.ID]-float64(h.Score)) > 1e-6 || float64(h.Score) > last {
				t.Errorf("%s: %s scores %v behind %v, by hand %v, %v", name, p.ID, h.Score, last, want[p.ID], err)
			}
			last = float64(h.Score)
		}
		for _, e := range g.Experts() {
			if (e.Name == "splade") != (e.Index.Kind == ann.Sparse) {
				t.Errorf("%s: %+v", name, e)
			}
		}
		if report, err := Verify(t.Context(), dir, nil); err != nil {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
	check("whole", built(t, store.BuildOptions{Experts: []store.PassageEncoder{dense, x}}, passages), 1)

	dir := built(t, store.BuildOptions{Experts: []store.PassageEncoder{dense}}, passages[:70], passages[70:120])
	if _, err := AddExpert(t.Context(), dir, x, store.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	l := lively(t, disk.OS{}, dir,
		LiveOptions{Build: store.BuildOptions{Experts: []store.PassageEncoder{dense, x}}, Merge: MergePolicy{Off: true}})
	var changes []store.Change
	for _, p := range passages[120:] {
		changes = append(changes, put(p))
	}
	apply(t, l, changes...)
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	check("in three segments", dir, 3)
	mergeAll(t, dir)
	check("merged", dir, 1)
	w, err := openWriter(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.delete(t.Context(), []string{"p3", "p4"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	check("without two", dir, 1, "p3", "p4")
	mergeAll(t, dir)
	check("merged without two", dir, 1, "p3", "p4")

	if _, err := Build(t.Context(), t.TempDir()+"/index", of(passages),
		store.BuildOptions{Experts: []store.PassageEncoder{dense}, Index: store.Index{Kind: ann.Sparse}}); err == nil ||
		!strings.Contains(err.Error(), ann.Sparse) {
		t.Errorf("an index of kind sparse for single vectors: %v", err)
	}
	broken := &weighingEncoder{hashEncoder: hashEncoder{name: "splade", dimension: 2}, odd: true}
	if _, err := Build(t.Context(), t.TempDir()+"/index", of(passages),
		store.BuildOptions{Experts: []store.PassageEncoder{broken}}); err == nil || !strings.Contains(err.Error(), `passage "p`) {
		t.Errorf("lists that are no pairs: %v", err)
	}
}
