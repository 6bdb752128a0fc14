package answering

import (
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// TestCappedByVerdict: where the passages do not answer at all, the first one is no likelier right than
// that; elsewhere its confidence stays.
func TestCappedByVerdict(t *testing.T) {
	by := &learned.Answerability{Thresholds: reply.Thresholds{Found: .2, Doubtful: .01}}
	for answerable, want := range map[float64][2]float64{.001: {.001, .001}, .02: {.8, .9}, .5: {.8, .9}} {
		r := fusion.Ranking{Confidence: run.Ptr(.8), Any: run.Ptr(.9), Answerable: run.Ptr(answerable)}
		CapByVerdict(&r, by)
		if *r.Confidence != want[0] || *r.Any != want[1] {
			t.Errorf("answerable by %v: %v and %v, want %v", answerable, *r.Confidence, *r.Any, want)
		}
	}
	r := fusion.Ranking{Confidence: run.Ptr(.8), Any: run.Ptr(.9)}
	CapByVerdict(&r, by)
	CapByVerdict(&r, nil)
	if *r.Confidence != .8 {
		t.Errorf("where that is not known: %v", *r.Confidence)
	}
}
