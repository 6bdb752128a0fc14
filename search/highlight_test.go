package search

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// TestHighlightsByHand: each token of the question marks the word of the token that it
// is nearest to, with its inner product; what surrounds a word is left out.
func TestHighlightsByHand(t *testing.T) {
	p := corpus.Passage{ID: "a", Title: "Été", Text: `He said: "wolves," … then left`}
	at := func(text, word string, inTitle bool) learned.Word {
		i := strings.Index(text, word)
		return learned.Word{InTitle: inTitle, Begin: i, End: i + len(word)}
	}
	wolves := at(p.Text, `"wolves,"`, false)
	of := []learned.Word{
		at(p.Title, "Été", true),
		at(p.Text, "He", false),
		wolves,
		wolves,
		at(p.Text, "…", false),
		at(p.Text, "left", false),
	}
	vectors := []float32{1, 0, 0, 1, .6, .8, .8, .6, -1, 0, -.6, -.8, -.6, -.8} // the last is a copy
	question := []float32{
		.5, 0, // nearest to the title: .5
		.3, .4, // to the first half of wolves: .5
		.08, .06, // to the second half: .1
		-.2, 0, // to the ellipsis, which is no word
		0, -.1, // to the word left: .08
	}
	want := []reply.Highlight{
		{Field: "title", Start: 0, End: len("Été"), Score: .5},
		{Field: "text", Start: strings.Index(p.Text, "wolves"), End: strings.Index(p.Text, ","), Score: .6},
		{Field: "text", Start: strings.Index(p.Text, "left"), End: len(p.Text), Score: .08},
	}
	got := sources.Highlights(p, of, question, vectors, 2, nil)
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if g, w := got[i], want[i]; math.Abs(g.Score-w.Score) > 1e-6 || g.Field != w.Field || g.Start != w.Start ||
			g.End != w.End {
			t.Errorf("%+v, want %+v", g, w)
		}
	}
}

// spelled is late interaction that knows its tokens: two a passage, of the first and
// the last word.
type spelled struct {
	*maxima
	fail error
}

func (s *spelled) Vector(o rank.Ordinal) ([]float32, error) {
	var out []float32
	for _, token := range s.tokens[o] {
		out = append(out, token...)
	}
	return out, s.fail
}

type speller struct{ *encoder }

func (speller) PassageWords(p corpus.Passage) ([]learned.Word, error) {
	last := strings.LastIndex(p.Text, " ") + 1
	return []learned.Word{{Begin: 0, End: strings.Index(p.Text, " ")}, {Begin: last, End: len(p.Text)}}, nil
}

// byHand returns what the tokens of a question add to the score of a passage, without those
// that match at least a fifth of the random passages as well.
func byHand(question []float32, tokens [][][]float32, passage int) (sum float64) {
	best := func(token []float32, of [][]float32) (most float64) {
		most = math.Inf(-1)
		for _, other := range of {
			dot := 0.0
			for i := range token {
				dot += float64(token[i]) * float64(other[i])
			}
			most = max(most, dot)
		}
		return most
	}
	for ; len(question) > 0; question = question[dimension:] {
		own := best(question[:dimension], tokens[passage])
		as := 0
		others := 0
		for i := range 32 {
			if i == passage {
				continue
			}
			if others++; best(question[:dimension], tokens[i]) >= own {
				as++
			}
		}
		if as <= others/5 {
			sum += own
		}
	}
	return sum
}

// TestCommonWordsAreNotMarked: of a language that is not known, words that most passages have carry nothing,
// whatever their tokens match; in a collection that is too small to tell, nothing is left out.
func TestCommonWordsAreNotMarked(t *testing.T) {
	marked := func(known *content.Words, passages int, word string) bool {
		s, index, _ := lateStage()
		s.library.shelf.vectors["tokens"] = &spelled{maxima: index}
		shelf := s.library.shelf
		for i := range shelf.passages {
			shelf.passages[i].Text = fmt.Sprintf("qwe moon%d zxc", i)
		}
		view := &snapshot.PinnedView{View: &fewer{shelf, passages}}
		p := corpus.Passage{Text: word}
		return known.Filter(t.Context(), view, "")(&p, "text", 0, len(word))
	}
	for passages, want := range map[int]bool{60: false, 6: true} {
		for word, want := range map[string]bool{"qwe": want, "moon3": true, "unheard": true} {
			if got := marked(new(content.Words), passages, word); got != want {
				t.Errorf("%d passages: %s %t", passages, word, got)
			}
		}
	}
	known := new(content.Words) // of a store, whose generation has no other number when it grows
	for _, passages := range []int{6, 60, 6} {
		if marked(known, passages, "qwe") != (passages == 6) {
			t.Errorf("when there are %d passages, the words are those of others", passages)
		}
	}
}

// fewer is a shelf of which a sample has so many passages.
type fewer struct {
	*shelf
	n int
}

func (f *fewer) Passages() storage.Passages { return f }
func (f *fewer) Sample(int) []rank.Ordinal  { return f.shelf.Sample(f.n) }
func (f *fewer) Words() storage.WordIndex   { return nil }

// TestHighlights: where they are asked for and late interaction takes part they add up to
// its score, without the tokens whose match is chance; what fails leaves the answer without them.
func TestHighlights(t *testing.T) {
	s, index, _ := lateStage()
	known := &spelled{maxima: index}
	s.library.shelf.vectors["tokens"] = known
	s.config.Late[0].Passages = speller{}
	for i := range s.library.shelf.passages { // words that no other passage has
		s.library.shelf.passages[i].Text = fmt.Sprintf("first%d and last%d", i, i)
	}
	tokens, _ := s.config.Late[0].Encoder.EncodeQuestion(t.Context(), askedOften)
	some := 0
	ask := func(r Request) reply.Response {
		r.Question, r.K = askedOften, 5
		return s.ask(t, r)
	}
	marked := Request{
		Fusion: methodsOf(fusion.MethodGate),
		Fields: []string{"text", "contributions", "sources", "highlights"},
	}
	got := ask(marked)
	for _, result := range got.Results {
		sum := 0.0
		for _, h := range result.Highlights {
			if word := result.Text[h.Start:h.End]; strings.Contains(word, " ") || h.Field != "text" {
				t.Errorf("%+v marks %q", h, word)
			}
			sum += h.Score
		}
		var at int
		_, _ = fmt.Sscanf(result.ID, "p%d", &at)
		if want := byHand(tokens, index.tokens, at); math.Abs(sum-want) > 1e-5 {
			t.Errorf("%s: %+v add up to %v, want %v", result.ID, result.Highlights, sum, want)
		}
		some += len(result.Highlights)
	}
	if some == 0 {
		t.Error("nothing is marked")
	}
	no := false
	for name, r := range map[string]Request{
		"nobody asked": {Fusion: methodsOf(fusion.MethodGate)},
		"no gate":      {Fusion: methodsOf(fusion.MethodRRF), Fields: marked.Fields},
		"without it":   {Fusion: methodsOf(fusion.MethodGate), Late: &no, Fields: marked.Fields},
	} {
		for _, result := range ask(r).Results {
			if result.Highlights != nil {
				t.Errorf("%s: %+v", name, result.Highlights)
			}
		}
	}
	known.fail = errors.New("gone")
	without := ask(marked)
	for i := range got.Results {
		got.Results[i].Highlights = nil
	}
	if !reflect.DeepEqual(without.Results, got.Results) {
		t.Errorf("%+v, want %+v", without.Results, got.Results)
	}
}
