package bm25

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

// withPhrases returns parameters to try that index phrases too.
func withPhrases() []Params {
	out := slices.Clone(paramsToTry)
	for i := range out {
		out[i].Phrases = true
	}
	return out
}

// naivePhrases lists the phrases of texts by their definition.
func naivePhrases(texts ...string) []string {
	var out []string
	for _, text := range texts {
		before := ""
		for _, term := range forms.Analyse(text) {
			if before != "" {
				out = append(out, before+" "+term)
			}
			before = term
		}
	}
	return out
}

// newNaivePhrases returns the oracle of phrases: what newNaive is of terms, with the
// same lengths.
func newNaivePhrases(params Params, passages []goldenPassage) *naive {
	n := newNaive(params, passages)
	n.read = func(question string) []string { return naivePhrases(question) }
	for i, p := range passages {
		phrases := map[string]int{}
		for _, phrase := range naivePhrases(p.Title, p.Text) {
			phrases[phrase]++
		}
		n.passages[i] = phrases
	}
	return n
}

// TestPhrasesAgainstFormula: phrases of several segments with deleted passages,
// and of the segment that these are merged into, against a sum by hand; and what
// Scores, Explain and UpperBound say of them.
func TestPhrasesAgainstFormula(t *testing.T) {
	for i, params := range withPhrases() {
		rng := rand.New(rand.NewPCG(61, uint64(i)))
		const vocabulary = 60
		passages := randomPassages(rng, 3000, vocabulary)
		oracle := newNaivePhrases(params, passages)
		segments := divide(t, rng, params, passages, 3)
		var rest []goldenPassage
		for s := range segments {
			segments[s].Deleted = make([]uint64, (segments[s].Index.Docs()+63)/64)
			for p := range segments[s].Index.Docs() {
				if at := int(segments[s].Base) + p; rng.IntN(4) == 0 {
					segments[s].Deleted[p/64] |= 1 << (p % 64)
					oracle.delete(at)
				} else {
					rest = append(rest, passages[at])
				}
			}
			if err := segments[s].Index.check(); err != nil {
				t.Fatal(err)
			}
		}
		words, err := NewSearcher(segments...)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "merged")
		if err := merge(t.Context(), path, segments...); err != nil {
			t.Fatal(err)
		}
		merged, err := Open(disk.OS{}, path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = merged.Close() }()
		afterMerge := newNaivePhrases(params, rest)
		some := 0
		for range 30 {
			question := randomQuestion(rng, vocabulary)
			hits, err := words.Phrases().Search(t.Context(), question, 50, nil)
			if err != nil {
				t.Fatal(err)
			}
			oracle.checkHits(t, question, 50, hits)
			some += len(hits)
			checkReadings(t, words.Phrases(), question, hits)
			hits, err = merged.Phrases().Search(t.Context(), question, 50, nil)
			if err != nil {
				t.Fatal(err)
			}
			afterMerge.checkHits(t, question, 50, hits)
		}
		if some == 0 {
			t.Fatal("no question had a phrase that a passage has")
		}
	}
}

// checkReadings compares what Scores, Search, Explain and UpperBound say of
// hits with each other.
func checkReadings(t *testing.T, s *Searcher, question string, hits []rank.Hit) {
	t.Helper()
	ordinals, scores := make([]rank.Ordinal, len(hits)), make([]float32, len(hits))
	for i, h := range hits {
		ordinals[i] = h.Ordinal
	}
	if err := s.Scores(question, ordinals, scores); err != nil {
		t.Fatal(err)
	}
	bound, err := s.UpperBound(question)
	if err != nil {
		t.Fatal(err)
	}
	asked := naivePhrases(question)
	for i, h := range hits {
		if scores[i] != h.Score || float64(h.Score) > bound*(1+1e-6) {
			t.Fatalf("%q: Scores gives %v for a hit with %v, the upper bound is %v", question, scores[i], h.Score, bound)
		}
		e, err := s.Explain(question, h.Ordinal)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, term := range e {
			sum += float64(term.Score)
			if !slices.Contains(asked, term.Term) || term.TF < 1 {
				t.Fatalf("%q is explained by %+v", question, term)
			}
		}
		if math.Abs(sum-float64(h.Score)) > 1e-6*sum {
			t.Fatalf("%q: the explanation of %v adds up to %v", question, h.Score, sum)
		}
	}
	if len(hits) < 2 {
		return
	}
	among := make(Selection, len(s.segments))
	for i, g := range s.segments {
		among[i] = make([]uint64, (g.Index.Docs()+63)/64)
	}
	for i, g := range s.segments { // the second alone
		if at := hits[1].Ordinal; at >= g.Base && uint64(at) < uint64(g.Base)+uint64(g.Index.Docs()) {
			among[i][(at-g.Base)/64] |= 1 << ((at - g.Base) % 64)
		}
	}
	if got, err := s.Search(t.Context(), question, 9, among); err != nil || len(got) != 1 || got[0] != hits[1] {
		t.Fatalf("%q among one passage: %v, %v, want %v", question, got, err, hits[1])
	}
}

// TestPhrasesLeaveWordsAlone: words score the same, to the last bit, with phrases
// and without.
func TestPhrasesLeaveWordsAlone(t *testing.T) {
	for i, params := range paramsToTry {
		rng := rand.New(rand.NewPCG(62, uint64(i)))
		const vocabulary = 300
		passages := randomPassages(rng, 4000, vocabulary)
		without := build(t, params, passages)
		if without.Phrases() != nil {
			t.Fatal("phrases of an index without")
		}
		params.Phrases = true
		with, err := NewSearcher(divide(t, rng, params, passages, 3)...)
		if err != nil {
			t.Fatal(err)
		}
		if without.alone().statistics != with.statistics || with.Phrases().statistics != with.statistics {
			t.Fatalf("statistics %+v and %+v", without.alone().statistics, with.statistics)
		}
		for range 40 {
			question := randomQuestion(rng, vocabulary)
			compareSearchers(t, rng, without.alone(), with, question, len(passages), nil)
			a, err1 := without.alone().UpperBound(question)
			b, err2 := with.UpperBound(question)
			if err := errors.Join(err1, err2); err != nil || a != b {
				t.Fatalf("%q: upper bounds %v and %v, %v", question, a, b, err)
			}
		}
	}
}

// TestPhrasesOfStopWords: stop words and case do not stand between words, the end
// of a title does.
func TestPhrasesOfStopWords(t *testing.T) {
	x := build(t, Params{K1: 0.9, B: 0.4, Phrases: true}, []goldenPassage{
		{Title: "Deep", Text: "lake"},
		{Title: "x", Text: "Deep is the Lake. A deep lake; deep, deep lakes"},
		{Text: "lake deep"},
	})
	e, err := x.Phrases().Explain("how deep is this lake?", 1)
	if err != nil || len(e) != 1 || e[0].Term != "deep lake" || e[0].TF != 3 || e[0].DF != 1 {
		t.Errorf("%+v, %v", e, err)
	}
	for question, want := range map[string]int{"deep lakes": 1, "lake deep": 2, "deep deep": 1, "deep": 0, "": 0,
		"lake x": 0} {
		if hits, err := x.Phrases().Search(t.Context(), question, 9, nil); err != nil || len(hits) != want {
			t.Errorf("%q: %v, %v, want %d", question, hits, err, want)
		}
	}
	if n, err := x.Phrases().matched(t.Context(), "lake deep"); err != nil || n != 2 {
		t.Errorf("%d match, %v", n, err)
	}
}

// TestPhrasesKeepTies: the order of ties is that of the words.
func TestPhrasesKeepTies(t *testing.T) {
	x := build(t, Params{K1: 0.9, B: 0.4, Phrases: true}, []goldenPassage{{Text: "deep lake"}})
	s, err := NewSearcher(Segment{Index: x}, Segment{Index: x, Base: 1}, Segment{Index: x, Base: 2})
	if err != nil {
		t.Fatal(err)
	}
	s.OrderTies(func(a, b rank.Ordinal) (int, error) { return int(b) - int(a), nil })
	hits, err := s.Phrases().Search(t.Context(), "deep lake", 3, nil)
	if err != nil || len(hits) != 3 || hits[0].Ordinal != 2 || hits[2].Ordinal != 0 {
		t.Errorf("%v, %v", hits, err)
	}
}

// TestPhrasesSpill: a builder with little memory writes the bytes that building
// at once does; what it writes is merged with its like alone. (TestMergeOrdered
// has phrases too.)
func TestPhrasesSpill(t *testing.T) {
	for i, params := range withPhrases()[:3] {
		rng := rand.New(rand.NewPCG(63, uint64(i)))
		passages := randomPassages(rng, 3000, 400)
		want := segmentBytes(t, addAll(t, NewBuilder(params), passages))
		b := NewBuilder(params)
		b.SpillTo(disk.OS{}, t.TempDir(), 300<<10)
		for _, p := range passages {
			addAll(t, b, []goldenPassage{p})
			if b.size() > 300<<10 {
				t.Fatalf("the builder holds %d bytes", b.size())
			}
		}
		if len(b.parts) < 3 {
			t.Fatalf("%d parts: the test is to spill more", len(b.parts))
		}
		if got := segmentBytes(t, b); !bytes.Equal(got, want) {
			t.Fatal("with parts on the disk the segment is another")
		}
		with := build(t, params, passages[:9])
		params.Phrases = false
		other := build(t, params, passages[:9])
		if err := merge(t.Context(), filepath.Join(t.TempDir(), "merged"), Segment{Index: with},
			Segment{Index: other}); err == nil ||
			!strings.Contains(err.Error(), "Phrases") {
			t.Errorf("segments with and without phrases are merged: %v", err)
		}
	}
}
