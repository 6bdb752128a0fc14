package search

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"conclave/corpus"
	"conclave/fusion"
	"conclave/rank"
)

// TestHighlightsByHand: each token of the question marks the word of the token that it
// is nearest to, with its inner product; what surrounds a word is left out.
func TestHighlightsByHand(t *testing.T) {
	p := corpus.Passage{ID: "a", Title: "Été", Text: `He said: "wolves," … then left`}
	at := func(text, word string, inTitle bool) Word {
		i := strings.Index(text, word)
		return Word{inTitle, i, i + len(word)}
	}
	wolves := at(p.Text, `"wolves,"`, false)
	of := []Word{at(p.Title, "Été", true), at(p.Text, "He", false), wolves, wolves, at(p.Text, "…", false), at(p.Text, "left", false)}
	vectors := []float32{1, 0, 0, 1, .6, .8, .8, .6, -1, 0, -.6, -.8, -.6, -.8} // the last is a copy
	question := []float32{
		.5, 0, // nearest to the title: .5
		.3, .4, // to the first half of wolves: .5
		.08, .06, // to the second half: .1
		-.2, 0, // to the ellipsis, which is no word
		0, -.1, // to the word left: .08
	}
	want := []Highlight{
		{"title", 0, len("Été"), .5},
		{"text", strings.Index(p.Text, "wolves"), strings.Index(p.Text, ","), .6},
		{"text", strings.Index(p.Text, "left"), len(p.Text), .08},
	}
	got := highlights(p, of, question, vectors, 2)
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if g, w := got[i], want[i]; math.Abs(g.Score-w.Score) > 1e-6 || g.Field != w.Field || g.Start != w.Start || g.End != w.End {
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

func (speller) PassageWords(p corpus.Passage) ([]Word, error) {
	last := strings.LastIndex(p.Text, " ") + 1
	return []Word{{Begin: 0, End: strings.Index(p.Text, " ")}, {Begin: last, End: len(p.Text)}}, nil
}

// TestHighlights: where they are asked for and late interaction takes part they add up to
// its score; what fails leaves the answer without them.
func TestHighlights(t *testing.T) {
	s, index, _ := lateStage()
	known := &spelled{maxima: index}
	s.library.shelf.vectors["tokens"] = known
	late := *s.config.Late
	late.Passages = speller{}
	s.config.Late = &late
	ask := func(r Request) Response {
		r.Question, r.K = question, 5
		return s.ask(t, r)
	}
	marked := Request{Fusion: methodsOf(fusion.MethodGate), Fields: []string{"text", "contributions", "sources", "highlights"}}
	got := ask(marked)
	for _, result := range got.Results {
		sum := 0.0
		for _, h := range result.Highlights {
			if word := result.Text[h.Start:h.End]; strings.Contains(word, " ") || h.Field != "text" {
				t.Errorf("%+v marks %q", h, word)
			}
			sum += h.Score
		}
		scored := *result.Contributions[len(result.Contributions)-1].Score
		if len(result.Highlights) == 0 || math.Abs(sum-scored) > 1e-5 {
			t.Errorf("%s: %+v add up to %v, and the score is %v", result.ID, result.Highlights, sum, scored)
		}
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
