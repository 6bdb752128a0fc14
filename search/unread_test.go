package search

import (
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// TestNothingReadIsNoEvidence: of a question of which the encoders read nothing, passages
// are found by words alone, and what the confidence is read from has no closeness.
func TestNothingReadIsNoEvidence(t *testing.T) {
	s, _, late := lateStage()
	judge := &sure{first: .4, any: .7}
	s.config.Defaults.Chances = judge
	s.config.Experts[0].Representatives = nil
	for i := range s.config.Experts {
		s.config.Experts[i].Encoder = reads{s.config.Experts[i].Encoder, 0, 2}
	}
	s.config.Late[0].Encoder = reads{late, 0, 2}
	r := s.ask(t, Request{Question: "green bird", Fusion: methodsOf(fusion.MethodGate)})
	if len(r.Results) == 0 || len(r.Notes) != 1 || len(r.Degraded) != 0 {
		t.Fatalf("%d results, notes %q, degraded %v", len(r.Results), r.Notes, r.Degraded)
	}
	words := s.ask(t, Request{Question: "green bird", Experts: &[]string{}, Fusion: methodsOf(fusion.MethodRRF)})
	found := map[string]bool{}
	for _, one := range words.Results {
		found[one.ID] = true
	}
	for _, one := range r.Results {
		if !found[one.ID] {
			t.Errorf("%s is found without a word of the question", one.ID)
		}
		for _, c := range one.Contributions {
			if lexical := c.Source == reply.WordSource || c.Source == reply.PhraseSource; !lexical && c.Contribution != 0 {
				t.Errorf("%s: %s contributes %v", one.ID, c.Source, c.Contribution)
			}
		}
	}
	for i, name := range fusion.SignalNames()[:7] {
		if judge.seen[i] != 0 {
			t.Errorf("%s is %v", name, judge.seen[i])
		}
	}
	// Of half a question the vectors count half.
	whole, half := newStage("A", 60), newStage("A", 60)
	half.config.Experts[0].Encoder = reads{half.config.Experts[0].Encoder, 0, 3}
	request := Request{
		Question:      "green bird red cat",
		Experts:       &[]string{"A"},
		BM25:          new(bool),
		Fusion:        methodsOf(fusion.MethodSum),
		Normalisation: "raw",
	}
	a, b := whole.ask(t, request), half.ask(t, request)
	if len(a.Results) == 0 || len(a.Results) != len(b.Results) {
		t.Fatalf("%d and %d results", len(a.Results), len(b.Results))
	}
	for i := range a.Results {
		if x, y := a.Results[i], b.Results[i]; x.ID != y.ID || y.Score-x.Score/2 > 1e-6 || x.Score/2-y.Score > 1e-6 {
			t.Errorf("%s with %v and %s with %v", x.ID, x.Score, y.ID, y.Score)
		}
	}
}

// limited reads so many bytes of a passage, and nothing that begins with a question mark.
type limited struct {
	learned.PassageEncoder
	most int
}

func (l limited) Reads(p corpus.Passage) (cut, unread bool) {
	return len(p.Text) > l.most, p.Text[0] == '?'
}

// TestReads: what holds for any expert.
func TestReads(t *testing.T) {
	s := newStage("AB", 5)
	for i, most := range []int{10, 20} {
		s.config.Experts[i].Passages = limited{most: most}
		s.config.Experts[i].Info.MaxTokens = map[string]int{"passage": most}
	}
	e := s.engine(t)
	for text, want := range map[string][2]bool{"short": {}, "longer than ten": {true, false}, "?": {false, true}} {
		if cut, unread := e.Reads(corpus.Passage{Text: text}); cut != want[0] || unread != want[1] {
			t.Errorf("%q: cut %t, unread %t", text, cut, unread)
		}
	}
}
