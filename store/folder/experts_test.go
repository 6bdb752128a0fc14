package folder

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/ann"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// TestExpertsComeAndGo adds an expert to two segments and removes it, while a
// reader has an older generation pinned.
func TestExpertsComeAndGo(t *testing.T) {
	a, b := &hashEncoder{name: "a", dimension: 8}, &hashEncoder{name: "b", dimension: 12}
	passages := randomPassages(1, 300)
	dir := built(t, store.BuildOptions{Experts: []store.PassageEncoder{a}}, passages[:200], passages[200:])
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	before := tree(t, dir)

	report, err := AddExpert(t.Context(), dir, b, store.BuildOptions{Index: store.Index{Kind: "flat"}})
	if err != nil || report.Passages != 300 || report.Generation != 3 {
		t.Fatalf("%+v, %v", report, err)
	}
	for name, content := range tree(t, dir) {
		if was, ok := before[name]; ok && was != content && name != "/"+manifest.FileName {
			t.Errorf("adding an expert rewrote %s", name)
		}
	}
	old := c.Acquire()
	if _, ok := old.Expert("b"); ok {
		t.Fatal("a generation changed while it was pinned")
	}
	if changed, err := c.Reload(nil); err != nil || !changed {
		t.Fatalf("Reload: %v, %v", changed, err)
	}
	if changed, err := c.Reload(nil); err != nil || changed {
		t.Fatalf("Reload again: %v, %v", changed, err)
	}
	with := c.Acquire()
	v, ok := with.Expert("b")
	if !ok {
		t.Fatal("the new expert is not there")
	}
	query := b.vector("word1 word2")
	hits, err := v.Search(t.Context(), query, 5, false)
	if err != nil || len(hits) != 5 {
		t.Fatalf("%v, %v", hits, err)
	}
	if p, err := with.Passage(hits[0].Ordinal); err != nil ||
		dot(query, b.vector(p.Title+" "+p.Text))-float64(hits[0].Score) > 1e-5 {
		t.Fatalf("the best hit is %+v with %v, %v", p, hits[0].Score, err)
	}

	if err := RemoveExpert(t.Context(), dir, "b"); err != nil {
		t.Fatal(err)
	}
	for name := range tree(t, dir) {
		if strings.Contains(name, "/b-") {
			t.Errorf("%s is still there", name)
		}
	}
	// The pinned generation goes on with the files that were removed.
	if again, err := v.Search(t.Context(), query, 5, false); err != nil || !slices.Equal(again, hits) {
		t.Fatalf("after the removal: %v, %v", again, err)
	}
	with.Release()
	old.Release()
	refused := errors.New("not this one")
	if changed, err := c.Reload(func(next *Generation) error {
		if _, has := next.Expert("b"); has || next.Number() != 4 {
			t.Errorf("shown generation %d, with the expert: %v", next.Number(), has)
		}
		return refused
	}); changed || !errors.Is(err, refused) || c.current.Number() != 3 {
		t.Errorf("refused: %v, %v, generation %d", changed, err, c.current.Number())
	}
	if _, err := c.Reload(nil); err != nil {
		t.Fatal(err)
	}
	if n := len(c.files.files); n != 16 {
		t.Errorf(
			"%d files are open, want 16: two segments of passages, words, tags, spelling, copies, fields, firsts and vectors",
			n,
		)
	}
	// Once more under the same name, with another encoder: new file names.
	if _, err := AddExpert(t.Context(), dir, &hashEncoder{name: "b", dimension: 6}, store.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Reload(nil); err != nil {
		t.Fatal(err)
	}
	g := c.Acquire()
	defer g.Release()
	if v, _ := g.Expert("b"); v.Dimension() != 6 {
		t.Errorf("dimension %d", v.Dimension())
	}
}

func TestCheckEncoders(t *testing.T) {
	a := &hashEncoder{name: "a", dimension: 8}
	g := opened(t, built(t, store.BuildOptions{Experts: []store.PassageEncoder{a}}, randomPassages(1, 50)))
	if err := g.CheckEncoders(a); err != nil {
		t.Error(err)
	}
	err := g.CheckEncoders(&hashEncoder{name: "a", dimension: 9, version: 4}, &hashEncoder{name: "c", dimension: 1})
	for _, want := range []string{"hash-a-8-0 (8 numbers)", "hash-a-9-4 (9 numbers)", `no vectors of expert "c" (it has: a)`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	if !errors.Is(err, ErrOtherEncoder) || !errors.Is(err, ErrNoVectors) {
		t.Errorf("%v", err)
	}
}

// TestRecallFloor: an index that was measured below its kind's floor is
// refused, coder is not but warns.
func TestRecallFloor(t *testing.T) {
	a, b := &hashEncoder{name: "a", dimension: 8}, &hashEncoder{name: "b", dimension: 8}
	dir := built(
		t,
		store.BuildOptions{Experts: []store.PassageEncoder{a}},
		randomPassages(1, 300),
		[]corpus.Passage{{ID: "x", Text: "x"}},
	)
	if _, err := AddExpert(t.Context(), dir, b, store.BuildOptions{Index: store.Index{Kind: "coder"}}); err != nil {
		t.Fatal(err)
	}
	g := opened(t, dir)
	if err := g.CheckRecall(nil); err != nil {
		t.Fatal(err)
	}
	for _, x := range g.Experts() {
		if got := len(x.Warnings()); got != map[string]int{"a": 0, "b": 1}[x.Name] {
			t.Errorf("expert %s has %d warnings", x.Name, got)
		}
	}
	// As it would be had it measured badly.
	m := *g.manifest
	m.Segments = slices.Clone(m.Segments)
	m.Segments[0].Experts = slices.Clone(m.Segments[0].Experts)
	m.Segments[0].Experts[0].Recall.Stored = ann.MeasuredRecall{Queries: 200, At10: 0.9, At100: 0.8}
	bad := Generation{dir: dir, manifest: &m, segments: g.segments, total: g.total}
	err := bad.CheckRecall(nil)
	if !errors.Is(err, ErrLowRecall) || !strings.Contains(err.Error(), `expert "a"`) ||
		!strings.Contains(err.Error(), "finds only 0.900") ||
		strings.Contains(err.Error(), `expert "b"`) {
		t.Errorf("%v", err)
	}
}

// TestLiveExperts adds and removes an expert while changes wait.
func TestLiveExperts(t *testing.T) {
	a, b := &hashEncoder{name: "a", dimension: 4}, &hashEncoder{name: "b", dimension: 6}
	dir := built(t, store.BuildOptions{Experts: []store.PassageEncoder{a}}, randomPassages(1, 30))
	l := lively(
		t,
		disk.OS{},
		dir,
		LiveOptions{Build: store.BuildOptions{Experts: []store.PassageEncoder{a}}, FlushAfter: time.Hour},
	)
	apply(t, l, put(corpus.Passage{ID: "x", Text: "new"}))
	if _, err := l.AddExpert(t.Context(), b, store.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	apply(t, l, put(corpus.Passage{ID: "y", Text: "newer"}))
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	g := l.Collection().Acquire()
	v, ok := g.Expert("b")
	if !ok || v.Len() != 32 || g.Len() != 32 {
		t.Fatalf("%v, %d passages", ok, g.Len())
	}
	if hits, err := v.Search(t.Context(), b.vector("newer"), 1, false); err != nil || names(t, g, hits)[0].id != "y" {
		t.Fatalf("%v, %v", hits, err)
	}
	g.Release()
	if err := l.RemoveExpert(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	apply(t, l, put(corpus.Passage{ID: "z", Text: "newest"}))
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
}
