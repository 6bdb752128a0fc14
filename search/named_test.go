package search

import (
	"slices"
	"strings"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// TestVerdictOfWhatStandsNowhere: a name that no passage has lowers the chance, by the share that it has of the
// question, and is named; at most to where the verdict is doubtful. Without the name nothing is lowered.
func TestVerdictOfWhatStandsNowhere(t *testing.T) {
	for _, c := range []struct {
		question string
		chance   float64
		want     reply.Verdict
		note     bool
	}{
		{"does the red dog run while the bird sleeps", .5, reply.VerdictFound, false},
		{"does the red dog run to Zanzibar", .5, reply.VerdictDoubtful, true},
		{"does the red dog run to zanzibar", .5, reply.VerdictFound, false},
		{"does the red dog run to Zanzibar", .05, reply.VerdictNotFound, true},
		{"does the red dog run to Zanzibar", .999999, reply.VerdictFound, false},
	} {
		s, _, _ := lateStage()
		s.config.Defaults.Answerability = &learned.Answerability{
			Chance:     &doubted{confidence: c.chance},
			Thresholds: reply.Thresholds{Found: .4, Doubtful: .1},
		}
		r := s.ask(t, Request{Question: c.question, Fusion: methodsOf(fusion.MethodGate), K: 5})
		noted := slices.ContainsFunc(
			r.Notes,
			func(n string) bool { return strings.Contains(n, `no passage has "Zanzibar"`) },
		)
		if r.Verdict != c.want || noted != c.note || r.Thresholds.Of(*r.Answerable) != c.want ||
			(*r.Answerable < c.chance) != strings.Contains(c.question, "Zanzibar") && c.chance > .1 {
			t.Errorf("%q at %v: %q by %v, notes %q", c.question, c.chance, r.Verdict, *r.Answerable, r.Notes)
		}
	}
}
