package folder

import (
	"context"
	"math"
	"strings"
	"testing"

	"example.org/conclave/ann"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
)

// wordEncoder gives every word of a passage the vector that hashEncoder gives
// it: late interaction without a model.
type wordEncoder struct {
	hashEncoder
	short bool // gives lists that are none
}

func (e *wordEncoder) Late() bool { return true }

func (e *wordEncoder) EncodePassages(ctx context.Context, passages []corpus.Passage) (out [][]float32, err error) {
	for _, p := range passages {
		out = append(out, e.list(p.Title+" "+p.Text))
		if e.short {
			out[len(out)-1] = out[len(out)-1][1:]
		}
	}
	return out, ctx.Err()
}

func (e *wordEncoder) list(text string) (out []float32) {
	for word := range strings.FieldsSeq(text) {
		out = append(out, e.vector(word)...)
	}
	return out
}

// maxima returns the sum of the greatest inner products, in float64.
func (e *wordEncoder) maxima(question, text string) (sum float64) {
	for q := range strings.FieldsSeq(question) {
		best := math.Inf(-1)
		for word := range strings.FieldsSeq(text) {
			best = max(best, dot(e.vector(q), e.vector(word)))
		}
		sum += best
	}
	return sum
}

// lateScores returns the scores of all passages of a generation by their ids, after
// they were compared with the sum by hand.
func lateScores(t *testing.T, g *Generation, e *wordEncoder, question string) map[string]float32 {
	t.Helper()
	v, ok := g.Expert(e.name)
	if !ok {
		t.Fatalf("there is no expert %s", e.name)
	}
	var ordinals []rank.Ordinal
	for o := range g.Ordinals() {
		ordinals = append(ordinals, rank.Ordinal(o))
	}
	scores := make([]float32, len(ordinals))
	out := map[string]float32{}
	v.Scores(e.list(question), ordinals, scores)
	for i, o := range ordinals {
		p, err := g.Passage(o)
		if err != nil { // deleted
			continue
		}
		out[p.ID] = scores[i]
		const codes = .3 // what two bits lose, for three tokens
		if want := e.maxima(question, p.Title+" "+p.Text); !(math.Abs(want-float64(scores[i])) <= codes) {
			t.Errorf("passage %s scores %v, by hand %v", p.ID, scores[i], want)
		}
	}
	return out
}

// TestLate: an expert of late interaction comes with a build, joins two segments,
// grows, merges and is verified like the others, and its scores do not depend on
// how the passages are divided.
func TestLate(t *testing.T) {
	dense := &hashEncoder{name: "base", dimension: 8}
	late := &wordEncoder{hashEncoder: hashEncoder{name: "tokens", dimension: 256}}
	passages := randomPassages(60, 200)
	const question = "word1 word7 title2"

	whole := built(t, store.BuildOptions{Experts: []store.PassageEncoder{dense, late}}, passages)
	want := lateScores(t, opened(t, whole), late, question)
	if len(want) != len(passages) {
		t.Fatalf("%d scores of %d passages", len(want), len(passages))
	}

	dir := built(t, store.BuildOptions{Experts: []store.PassageEncoder{dense}}, passages[:70], passages[70:120])
	if _, err := AddExpert(t.Context(), dir, late, store.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	l := lively(
		t,
		disk.OS{},
		dir,
		LiveOptions{Build: store.BuildOptions{Experts: []store.PassageEncoder{dense, late}}, Merge: MergePolicy{Off: true}},
	)
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
	same := func(name string, segments int, removed ...string) {
		t.Helper()
		g := opened(t, dir)
		got := lateScores(t, g, late, question)
		if g.Segments() != segments || len(got) != len(want)-len(removed) {
			t.Fatalf("%s: %d segments with %d passages", name, g.Segments(), len(got))
		}
		for id, score := range got {
			if score != want[id] {
				t.Errorf("%s: passage %s scores %v, in one segment %v", name, id, score, want[id])
			}
		}
		for _, x := range g.Experts() {
			if (x.Name == "tokens") != (x.Index.Kind == ann.Late) || x.Recall.Stored.At10 < .95 {
				t.Errorf("%s: %+v", name, x)
			}
		}
		if report, err := Verify(t.Context(), dir, nil); err != nil {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
	same("in three segments", 3)
	mergeAll(t, dir)
	same("merged", 1)
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
	mergeAll(t, dir)
	same("merged without two", 1, "p3", "p4")
}

// TestLateIsNoChoice: its index belongs to its experts alone, and what is no list
// of vectors is refused with the passage's name.
func TestLateIsNoChoice(t *testing.T) {
	dense := &hashEncoder{name: "base", dimension: 8}
	passages := randomPassages(61, 5)
	dir := t.TempDir() + "/index"
	if _, err := Build(t.Context(), dir, of(passages),
		store.BuildOptions{Experts: []store.PassageEncoder{dense}, Index: store.Index{Kind: ann.Late}}); err == nil ||
		!strings.Contains(err.Error(), ann.Late) {
		t.Errorf("an index of kind late for single vectors: %v", err)
	}
	broken := &wordEncoder{hashEncoder: hashEncoder{name: "tokens", dimension: 256}, short: true}
	o := store.BuildOptions{Experts: []store.PassageEncoder{broken}}
	if _, err := Build(t.Context(), dir, of(passages), o); err == nil ||
		!strings.Contains(err.Error(), "passage \"p") {
		t.Errorf("lists that are none: %v", err)
	}
}
