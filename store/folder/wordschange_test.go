package folder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// phrased returns the constants of a collection with phrases.
func phrased() bm25.Params {
	p := bm25.DefaultParams()
	p.Phrases = true
	return p
}

var wordQuestions = []string{"word1 word2", "word3 word1 word2 word7", "word2", "word5 word5 word4", "absent word9"}

// asked puts questions to a generation's words and phrases, and says what comes
// out, by id.
func asked(t testing.TB, g *Generation) []string {
	t.Helper()
	var out []string
	for _, index := range []*WordIndex{g.Words(), g.Phrases()} {
		if index == nil {
			continue
		}
		for _, question := range wordQuestions {
			hits, err := index.Search(t.Context(), question, 40)
			if err != nil {
				t.Fatal(err)
			}
			scores, ordinals := make([]float32, len(hits)), make([]rank.Ordinal, len(hits))
			for i, h := range hits {
				ordinals[i] = h.Ordinal
			}
			if err := index.Scores(question, ordinals, scores); err != nil {
				t.Fatal(err)
			}
			for i, h := range hits {
				if scores[i] != h.Score {
					t.Fatalf("%q: Scores gives %v for a hit with %v", question, scores[i], h.Score)
				}
				id, err := g.ID(h.Ordinal)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, fmt.Sprint(question, " ", id, " ", h.Score))
			}
			bound, err := index.UpperBound(question)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprint(question, " at most ", bound))
		}
	}
	return out
}

// TestRebuildWords gives a collection of two segments with deleted passages
// phrases, and takes them away again: what it then answers is what one that was
// built so does, and nothing but words and manifest is written. A reader keeps
// what it has.
func TestRebuildWords(t *testing.T) {
	a := &hashEncoder{name: "a", dimension: 8}
	passages := randomPassages(1, 300)
	removed := []string{passages[3].ID, passages[250].ID}
	make := func(words bm25.Params) string {
		t.Helper()
		dir := built(t, store.BuildOptions{Experts: []store.PassageEncoder{a}, Words: words}, passages[:200], passages[200:])
		if _, err := Delete(t.Context(), dir, removed); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	dir := make(bm25.Params{})
	without, with := opened(t, dir), opened(t, make(phrased()))
	if without.Phrases() != nil {
		t.Fatal("phrases of a collection without")
	}
	wantWithout, wantWith := asked(t, without), asked(t, with)
	if len(wantWith) < 2*len(wordQuestions)+20 || !slices.Equal(wantWithout, wantWith[:len(wantWithout)]) {
		t.Fatal("words answer otherwise beside phrases, or too little is found")
	}
	before := tree(t, dir)
	var last store.Progress
	report, err := RebuildWords(t.Context(), dir, phrased(), store.BuildOptions{Progress: func(p store.Progress) {
		if p.Stage == store.Words {
			last = p
		}
	}})
	if err != nil || report.Passages != 300 || report.Generation != without.Number()+1 || report.Bytes == 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	if last.Done != 300 || last.Total != 300 {
		t.Errorf("progress ends with %+v", last)
	}
	fresh := 0
	after := tree(t, dir)
	for name, content := range after {
		was, ok := before[name]
		if ok && was != content && name != "/"+manifest.FileName {
			t.Errorf("%s was rewritten", name)
		}
		if !ok {
			fresh++
		}
	}
	if fresh != 2 || len(after) != len(before) {
		t.Errorf("%d new files, %d instead of %d in all", fresh, len(after), len(before))
	}
	if got := asked(t, opened(t, dir)); !slices.Equal(got, wantWith) {
		t.Errorf("rebuilt with phrases it answers\n%v\nand not\n%v", got, wantWith)
	}
	if got := asked(t, without); !slices.Equal(got, wantWithout) {
		t.Error("the generation that was open before answers otherwise")
	}
	if p, err := WordParams(dir); err != nil || p != phrased() {
		t.Errorf("%+v, %v", p, err)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if _, err := Snapshot(t.Context(), dir, copied); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{dir, copied} {
		if _, err := Verify(t.Context(), dir, nil); err != nil {
			t.Error(err)
		}
	}
	if got := asked(t, opened(t, copied)); !slices.Equal(got, wantWith) {
		t.Error("its snapshot answers otherwise")
	}
	if _, err := Add(t.Context(), dir, of([]corpus.Passage{{ID: "more", Text: "word1 word2"}}),
		store.BuildOptions{Experts: []store.PassageEncoder{a}, Words: bm25.DefaultParams()}); !errors.Is(
		err,
		ErrOtherWords,
	) {
		t.Errorf("adding with other parameters: %v", err)
	}
	if _, err := RebuildWords(t.Context(), dir, bm25.DefaultParams(), store.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := asked(t, opened(t, dir)); !slices.Equal(got, wantWithout) {
		t.Error("rebuilt without phrases it answers otherwise than before")
	}
	if _, err := RebuildWords(t.Context(), dir, bm25.Params{K1: -1}, store.BuildOptions{}); err == nil {
		t.Error("impossible parameters were accepted")
	}
}

// TestRebuildWordsOfAnotherVersion: what no reader opens, since another version
// analysed it or wrote its file of words, is of use again.
func TestRebuildWordsOfAnotherVersion(t *testing.T) {
	for _, analyser := range []string{"another", store.Analyser(forms.Lucene)} {
		dir := built(t, store.BuildOptions{}, randomPassages(1, 50))
		m, err := readManifest(disk.OS{}, dir)
		if err != nil {
			t.Fatal(err)
		}
		m.Words.Analyser = analyser
		if _, err := manifest.Write(disk.OS{}, dir, m); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, m.Segments[0].Name, m.Segments[0].Words.Name)
		if err := os.WriteFile(path, make([]byte, m.Segments[0].Words.Size), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); !errors.Is(err, ErrOtherAnalyser) && !errors.Is(err, ErrDamagedWords) {
			t.Fatalf("opening it: %v", err)
		}
		p, err := WordParams(dir)
		if err != nil {
			t.Fatal(err)
		}
		p.Phrases = true
		if _, err := RebuildWords(t.Context(), dir, p, store.BuildOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(t.Context(), dir, nil); err != nil {
			t.Error(err)
		}
		want := asked(t, opened(t, built(t, store.BuildOptions{Words: phrased()}, randomPassages(1, 50))))
		if got := asked(t, opened(t, dir)); !slices.Equal(got, want) {
			t.Error("it answers otherwise than one that this program built")
		}
	}
}

// TestRebuildWordsOfTheOldAnalysis: a collection of the analysis Lucene answers as it did
// when nothing else was known, its manifest says nothing of an analysis, and RebuildWords
// makes it what a new collection with the analysis Unicode is.
func TestRebuildWordsOfTheOldAnalysis(t *testing.T) {
	folded := phrased()
	folded.Analysis = forms.Unicode
	passages := append(
		randomPassages(1, 50),
		corpus.Passage{ID: "nfd", Text: "Jose\u0301 Nu\u0301n\u0303ez fixed the wi-fi of part 03-893"},
	)
	dir := built(t, store.BuildOptions{Words: phrased()}, passages[:30], passages[30:])
	found := func(g *Generation, question string) (ids []string) {
		t.Helper()
		hits, err := g.Words().Search(t.Context(), question, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hits {
			id, err := g.ID(h.Ordinal)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		return ids
	}
	questions := []string{"José Núñez", "Jose Nunez", "wifi", "03893"}
	old := opened(t, dir)
	for _, question := range questions {
		if ids := found(old, question); ids != nil {
			t.Errorf("%q finds %v with the analysis Lucene", question, ids)
		}
	}
	described, err := os.ReadFile(filepath.Join(dir, manifest.FileName))
	if err != nil || strings.Contains(string(described), "analysis") {
		t.Errorf("the manifest names an analysis: %s, %v", described, err)
	}
	if _, err := RebuildWords(t.Context(), dir, folded, store.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	described, err = os.ReadFile(filepath.Join(dir, manifest.FileName))
	if err != nil || !strings.Contains(string(described), `"analysis": "unicode"`) {
		t.Errorf("the manifest does not name the analysis: %s, %v", described, err)
	}
	fresh, rebuilt := opened(t, built(t, store.BuildOptions{Words: folded}, passages)), opened(t, dir)
	if got, want := asked(t, rebuilt), asked(t, fresh); !slices.Equal(got, want) {
		t.Error("it answers otherwise than a new collection")
	}
	for _, question := range questions {
		if ids := found(rebuilt, question); !slices.Equal(ids, []string{"nfd"}) {
			t.Errorf("%q finds %v", question, ids)
		}
		if ids := found(old, question); ids != nil {
			t.Errorf("%q finds %v in the generation that was open before", question, ids)
		}
	}
	if _, err := Verify(t.Context(), dir, nil); err != nil {
		t.Error(err)
	}
	if _, err := Add(t.Context(), dir, of([]corpus.Passage{{ID: "more", Text: "José"}}),
		store.BuildOptions{Words: phrased()}); !errors.Is(
		err,
		ErrOtherWords,
	) {
		t.Errorf("adding with the other analysis: %v", err)
	}
	m, err := readManifest(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Words.Analysis = "of the future"
	if _, err := manifest.Write(disk.OS{}, dir, m); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrOtherAnalyser) || !strings.Contains(err.Error(), "of the future") {
		t.Errorf("an unknown analysis: %v", err)
	}
}

// TestPhrasesWhileServing: segments that are made of changes and merged have
// phrases, readers see them, filters hold, and ties go by id.
func TestPhrasesWhileServing(t *testing.T) {
	dir := built(
		t,
		store.BuildOptions{Words: phrased()},
		[]corpus.Passage{{ID: "b", Text: "deep lake"}, {ID: "d", Text: "deep sea", Tags: []string{"x"}}},
	)
	l := lively(t, disk.OS{}, dir, LiveOptions{FlushAfter: time.Hour})
	follower, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = follower.Close() }()
	put1 := func(p corpus.Passage) {
		apply(t, l, put(p))
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	put1(corpus.Passage{ID: "a", Text: "the deep lakes", Tags: []string{"x"}})
	put1(corpus.Passage{ID: "c", Text: "lake deep"})
	check := func(c *Collection) {
		t.Helper()
		g := c.Acquire()
		defer g.Release()
		hits, err := g.Phrases().Search(t.Context(), "a deep lake", 9)
		if got := hitIDs(t, g, hits); err != nil || !slices.Equal(got, []string{"a", "b"}) || hits[0].Score != hits[1].Score {
			t.Errorf("%v, %v, %v", got, hits, err)
		}
		tagged, err := g.Select([]string{"x"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		hits, err = g.Phrases().Among(tagged).Search(t.Context(), "a deep lake", 9)
		if got := hitIDs(t, g, hits); err != nil || !slices.Equal(got, []string{"a"}) {
			t.Errorf("%v, %v", got, err)
		}
		e, err := g.Phrases().Explain("a deep lake", hits[0].Ordinal)
		if err != nil || len(e) != 1 || e[0].Term != "deep lake" || e[0].DF != 2 || e[0].Score != hits[0].Score {
			t.Errorf("%+v, %v", e, err)
		}
	}
	if _, err := follower.Reload(nil); err != nil {
		t.Fatal(err)
	}
	check(l.Collection())
	check(follower)
	var all []string
	for _, s := range l.writer.snapshot().Segments {
		all = append(all, s.Name)
	}
	if len(all) != 3 {
		t.Fatalf("%d segments", len(all))
	}
	if err := l.merge(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if _, err := follower.Reload(nil); err != nil {
		t.Fatal(err)
	}
	check(l.Collection())
	check(follower)
	for _, id := range []string{"a", "b", "c", "d"} {
		apply(t, l, store.Change{Delete: id})
	}
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	g := l.Collection().Acquire()
	defer g.Release()
	if g.Segments() != 0 || g.Phrases() == nil {
		t.Fatalf("%d segments are left, phrases: %v", g.Segments(), g.Phrases())
	}
	if hits, err := g.Phrases().Search(t.Context(), "deep lake", 9); err != nil || len(hits) > 0 {
		t.Errorf("%v, %v", hits, err)
	}
}

// hitIDs returns the ids of hits, in their order.
func hitIDs(t testing.TB, g *Generation, hits []rank.Hit) []string {
	t.Helper()
	var out []string
	for _, h := range names(t, g, hits) {
		out = append(out, h.id)
	}
	return out
}

// TestSegmentsMadeBesideRebuiltWords: a segment whose words were made as they
// were before is not published among others.
func TestSegmentsMadeBesideRebuiltWords(t *testing.T) {
	dir := built(t, store.BuildOptions{}, randomPassages(1, 30))
	w, err := openWriter(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	late := &lateSource{Stream: of([]corpus.Passage{{ID: "late", Text: "word1"}}), first: func() {
		if _, err := w.rebuildWords(t.Context(), phrased(), store.BuildOptions{}); err != nil {
			t.Error(err)
		}
	}}
	if _, err := w.add(t.Context(), late, store.BuildOptions{}); !errors.Is(err, errWordsChanged) {
		t.Errorf("adding beside it: %v", err)
	}
	if _, err := Verify(t.Context(), dir, nil); err != nil {
		t.Error(err)
	}
	if g := opened(t, dir); g.Len() != 30 || g.Phrases() == nil {
		t.Errorf("%d passages, phrases: %v", g.Len(), g.Phrases())
	}
}

// lateSource does something before it gives its first passage.
type lateSource struct {
	store.Stream
	first func()
}

func (s *lateSource) Next() (corpus.Passage, error) {
	if s.first != nil {
		s.first()
		s.first = nil
	}
	return s.Stream.Next()
}
