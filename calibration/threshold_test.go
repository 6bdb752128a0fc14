package calibration

import (
	"slices"
	"testing"
)

// TestThresholds, counted by hand: ten right first passages with 0.1, 0.2 … 1, two
// wrong ones, and what is asked in vain.
func TestThresholds(t *testing.T) {
	own := outcomes(t, []float64{.1, .2, .3, .4, .5, .6, .7, .8, .9, 1, .15, .95}, "111111111100")
	taken := outcomes(t, []float64{.05, .15, .25, .5}, "0000")
	got := thresholds(own, taken, outcomes(t, []float64{.01, .05, .12, .2, .6}, "00000"))
	// No more than 2 and 5 of 100 of ten are none; 10 are the one with 0.1; 20 that with 0.2 too.
	want := []struct{ at, lost, taken, unanswerable float64 }{
		{.1, 0, .25, .4},
		{.2, .1, .5, .6},
		{.3, .2, .75, .8},
		{.5, .4, .75, .8},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, w := range want {
		g := got[i]
		near(t, "threshold", g.MinConfidence, w.at, 0)
		near(t, "lost", g.Lost, w.lost, 1e-12)
		near(t, "taken out", g.TakenOut, w.taken, 1e-12)
		near(t, "unanswerable", *g.Unanswerable, w.unanswerable, 1e-12)
	}
	if alone := thresholds(own, taken, nil); slices.ContainsFunc(
		alone,
		func(x Threshold) bool { return x.Unanswerable != nil },
	) {
		t.Error("unanswerable questions that nobody asked")
	}
	for _, x := range thresholds(outcomes(t, []float64{.3}, "0"), taken, nil) {
		if x.Lost != 0 {
			t.Errorf("no first passage is right, and %v of them are lost", x.Lost)
		}
	}
}
