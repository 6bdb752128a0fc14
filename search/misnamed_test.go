package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// TestVerdictOfAnotherSubject: where the first passage is about another part than the question names, the verdict is
// doubtful however sure everything else is, a note says which part is near, no words are marked and no confidence is
// greater than the chance. About the part itself nothing changes.
func TestVerdictOfAnotherSubject(t *testing.T) {
	for _, c := range []struct {
		question string
		want     reply.Verdict
		note     string
	}{
		{"does the red dog 541902 run", reply.VerdictFound, ""},
		{"does the red dog 541972 run", reply.VerdictDoubtful, `no passage has "541972", which the question names; nearest: "541902"`},
		{"does the red dog run for 12 days", reply.VerdictFound, ""},
	} {
		s, _, _ := lateStage()
		for i := range s.library.shelf.passages {
			p := &s.library.shelf.passages[i]
			p.Text = fmt.Sprintf("red dog 541902 runs %s", p.Text)
			s.words.texts[i] = p.Text
		}
		s.config.Readers = []learned.LoadedReader{{Reader: new(marker), Name: "marker"}}
		s.config.Defaults.Chances = &sure{first: .9, any: .95}
		s.config.Defaults.Answerability = &learned.Answerability{
			Chance:     &doubted{confidence: .999999},
			Thresholds: reply.Thresholds{Found: .4, Doubtful: .1},
		}
		r := s.ask(t, Request{
			Question: c.question, Fusion: methodsOf(fusion.MethodGate), K: 5, Answer: wanted(ask.AnswerOptions{}),
		})
		if r.Verdict != c.want || c.note != "" && !slices.Contains(r.Notes, c.note) {
			t.Errorf("%q: %q, notes %q, want %q and %q", c.question, r.Verdict, r.Notes, c.want, c.note)
		}
		named := slices.ContainsFunc(
			r.Notes, func(n string) bool { return strings.Contains(n, "which the question names") },
		)
		doubtful := c.want == reply.VerdictDoubtful
		if named != doubtful || (len(r.Answers) == 0) != doubtful || doubtful != (*r.Confidence < .4) {
			t.Errorf("%q: notes %q, answers %+v, confidence %v", c.question, r.Notes, r.Answers, *r.Confidence)
		}
	}
}

// TestVerdictOfAPage: names are compared with the first passages of the ranking, whichever of them are returned.
func TestVerdictOfAPage(t *testing.T) {
	first := ""
	for _, request := range []Request{{K: 5}, {K: 1}, {K: 2, Offset: 3}, {K: 20}} {
		s, _, _ := lateStage()
		for i := range s.library.shelf.passages {
			p := &s.library.shelf.passages[i]
			number := 541100 + i
			if p.ID == first {
				number = 541902
			}
			p.Text = fmt.Sprintf("red dog %d runs %s", number, p.Text)
			s.words.texts[i] = p.Text
		}
		s.config.Defaults.Chances = &sure{first: .9, any: .95}
		s.config.Defaults.Answerability = &learned.Answerability{
			Chance:     &doubted{confidence: .999999},
			Thresholds: reply.Thresholds{Found: .4, Doubtful: .1},
		}
		request.Question = "does the red dog 541902 run"
		request.Fusion = methodsOf(fusion.MethodGate)
		r, err := s.engine(t).Search(t.Context(), Caller{}, request)
		if err != nil {
			t.Fatal(err)
		}
		if first == "" { // no passage has the number yet
			if r.Verdict != reply.VerdictDoubtful {
				t.Errorf("of a number that no passage has the verdict is %q", r.Verdict)
			}
			first = r.Results[0].ID
			continue
		}
		if r.Verdict != reply.VerdictFound || len(r.Notes) > 0 {
			t.Errorf("k %d from %d: %q, notes %q", request.K, request.Offset, r.Verdict, r.Notes)
		}
	}
}
