package folder

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
)

// windowing is a hashEncoder that reads at most so many bytes at a time, and of a longer passage each line by itself.
// It leaves out passages in German.
type windowing struct {
	*hashEncoder
	most int
}

func (w windowing) Windows(p corpus.Passage) (windows []rank.Span, cut bool) {
	if corpus.LanguageOf(&p) == "de" {
		return []rank.Span{}, false
	}
	if len(p.Text) <= w.most {
		return nil, false
	}
	at := 0
	for line := range strings.Lines(p.Text) {
		windows = append(windows, rank.Span{Begin: uint32(at), End: uint32(at + len(line))})
		at += len(line)
	}
	return windows, false
}

// windowedPassages returns n passages, of which every third has four lines and is longer than 20 bytes, and every
// fifth is in German.
func windowedPassages(from, n int) (out []corpus.Passage) {
	for i := from; i < from+n; i++ {
		p := corpus.Passage{ID: fmt.Sprint("p", i), Text: fmt.Sprint("short ", i)}
		if i%3 == 0 {
			p.Text = fmt.Sprintf("first %d\nsecond %d\nthird %d\nfourth %d\n", i, i, i, i)
		}
		if i%5 == 4 {
			p.Metadata = map[string]any{corpus.LanguageKey: "de"}
		}
		out = append(out, p)
	}
	return out
}

// checkWindows checks that each passage of a generation has the vectors of its windows: a search for that of any window
// finds the passage, and no other passage scores as much. A passage that the encoder leaves out has no vector and is
// never found.
func checkWindows(t *testing.T, what string, g *Generation, e windowing, passages []corpus.Passage) {
	t.Helper()
	x, ok := g.Expert(e.Name())
	if !ok {
		t.Fatalf("%s: no vectors of %s", what, e.Name())
	}
	for _, p := range passages {
		windows, _ := e.Windows(p)
		if windows == nil {
			windows = []rank.Span{{End: uint32(len(p.Text))}}
		}
		ordinal, there, err := g.Ordinal(p.ID)
		if err != nil || !there {
			t.Fatalf("%s: %s: %v", what, p.ID, err)
		}
		stored, err := x.Vector(ordinal)
		if err != nil || len(stored) != len(windows)*e.Dimension() {
			t.Fatalf("%s: %s has %d numbers for %d windows, %v", what, p.ID, len(stored), len(windows), err)
		}
		if len(windows) == 0 {
			score := make([]float32, 1)
			x.Scores(e.vector("short"), []rank.Ordinal{ordinal}, score)
			hits, err := x.Search(t.Context(), e.vector("short"), len(passages), true)
			if score[0] != rank.NoVector || err != nil ||
				slices.ContainsFunc(hits, func(h rank.Hit) bool { return h.Ordinal == ordinal }) {
				t.Errorf("%s: %s, which is left out, scores %v; %v", what, p.ID, score, err)
			}
		}
		for i, s := range windows {
			part := p
			part.Text = p.Text[s.Begin:s.End]
			vectors, err := e.EncodePassages(context.Background(), []corpus.Passage{part})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(stored[i*e.Dimension():(i+1)*e.Dimension()], vectors[0]) {
				t.Errorf("%s: the vector of window %d of %s is another one", what, i, p.ID)
			}
			hits, err := x.Search(t.Context(), vectors[0], 1, true)
			if err != nil || len(hits) != 1 || hits[0].Ordinal != ordinal {
				t.Errorf("%s: window %d of %s finds %v, %v", what, i, p.ID, hits, err)
			}
		}
	}
}

// TestWindows: windows of long passages have vectors whether they are built, added, written to a live collection,
// merged, or an expert is added; a segment without long passages has no file of them.
func TestWindows(t *testing.T) {
	e := windowing{&hashEncoder{name: "x", dimension: 16}, 20}
	o := store.BuildOptions{Experts: []store.PassageEncoder{e}, Index: store.Index{Kind: "flat"}}
	first, second := windowedPassages(0, 30), windowedPassages(30, 30)
	dir := built(t, o, first)
	if _, err := Add(t.Context(), dir, of(second), o); err != nil {
		t.Fatal(err)
	}
	plain := corpus.Passage{ID: "q1", Text: "no window"}
	if _, err := Add(t.Context(), dir, of([]corpus.Passage{plain}), o); err != nil {
		t.Fatal(err)
	}
	all := append(slices.Concat(first, second), plain)
	look := func(what string, e windowing) {
		t.Helper()
		c, err := Open(dir)
		if err != nil {
			t.Fatal(what, err)
		}
		g := c.Acquire()
		checkWindows(t, what, g, e, all)
		if reads := g.Reads(); reads.Cut > 0 {
			t.Errorf("%s: %+v", what, reads)
		}
		g.Release()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(t.Context(), dir, nil); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	look("built and added", e)
	m, err := readManifest(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range m.Segments {
		s := &m.Segments[i]
		names = append(names, s.Name)
		if has := s.Expert("x").Parts != nil; has != (s.Passages == 30) {
			t.Errorf("a segment of %d passages has windows: %t", s.Passages, has)
		}
	}
	if _, err := Merge(t.Context(), dir, names, store.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	look("merged", e)
	other := windowing{&hashEncoder{name: "y", dimension: 8}, 20}
	if _, err := AddExpert(t.Context(), dir, other, store.BuildOptions{Index: store.Index{Kind: "flat"}}); err != nil {
		t.Fatal(err)
	}
	look("an expert added", other)

	o.Experts = append(o.Experts, other)
	live, err := OpenLive(dir, LiveOptions{Build: o, FlushAfter: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	third := windowedPassages(60, 10)
	third[0].ID = first[0].ID // takes the place of one
	all[0] = third[0]
	var changes []store.Change
	for i := range third {
		changes = append(changes, store.Change{Put: &third[i]})
	}
	if _, err := live.ApplyTogether(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	if err := live.Wait(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := live.Close(); err != nil {
		t.Fatal(err)
	}
	all = append(all, third[1:]...)
	look("written", e)
	look("written", other)
}
