package calibration

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAUROCAgainstPairs compares with counting every pair, with many ties.
func TestAUROCAgainstPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		all := make([]Outcome, 1+rng.IntN(12))
		for i := range all {
			all[i] = Outcome{Confidence: float64(rng.IntN(5)) / 4, Correct: rng.IntN(2) == 1}
		}
		won, pairs := 0.0, 0.0
		for _, right := range all {
			for _, wrong := range all {
				if !right.Correct || wrong.Correct {
					continue
				}
				pairs++
				if right.Confidence > wrong.Confidence {
					won++
				} else if right.Confidence == wrong.Confidence {
					won += .5
				}
			}
		}
		got, ok := AUROC(all)
		if ok != (pairs > 0) || ok && math.Abs(got-won/pairs) > 1e-12 {
			t.Fatalf("%v: AUROC %v (%v), want %v of %v", all, got, ok, won, pairs)
		}
	}
}

// TestCoverage is worked out by hand.
func TestCoverage(t *testing.T) {
	all := outcomes(t, []float64{.2, .9, .5, .9, .5, .5}, "011101")
	want := []CoveragePoint{{.9, 2. / 6, 1}, {.5, 5. / 6, 4. / 5}, {.2, 1, 4. / 6}}
	if got := Coverage(all); !slices.Equal(got, want) {
		t.Errorf("coverage %v, want %v", got, want)
	}
	for _, c := range []struct{ share, want float64 }{
		{0, 1}, {1. / 6, 1}, {2. / 6, 1},
		{.5, (2 + 2./3) / 3}, // one of three, of which two are right
		{.51, (2 + 2*2./3) / 4},
		{5. / 6, .8}, {1, 4. / 6}, {7, 4. / 6},
	} {
		near(t, "accuracy on a share", AccuracyAt(all, c.share), c.want, 1e-12)
	}
	slices.Reverse(all)
	near(t, "accuracy on half, in another order", AccuracyAt(all, .5), (2+2./3)/3, 1e-12)
	near(t, "accuracy of nothing", AccuracyAt(nil, .5), 0, 0)
}
