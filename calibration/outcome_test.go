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

// TestAccuracyAt compares with what was worked out by hand.
func TestAccuracyAt(t *testing.T) {
	all := outcomes(t, []float64{.2, .9, .5, .9, .5, .5}, "011101")
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

// TestECE holds a value of the get_ece of MUF's authors, with edges and a
// confidence above 1, and one that was computed apart for CCE.
func TestECE(t *testing.T) {
	near(
		t,
		"the authors' ECE",
		ECE(outcomes(t, []float64{.05, .15, .95, 1, .55, .55, .1, 1.0000001}, "01110111")),
		.23125,
		1e-12,
	)
	near(t, "with two outside", ECE(outcomes(t, []float64{-.5, 1.5, .25}, "011")), .75/3, 1e-12)
	s := Summarise(outcomes(t, []float64{.35, .33, .72, .78, 1}, "01101"))
	near(t, "ECE", s.ECE, .164, 1e-12)
	near(t, "Brier", s.Brier, (.35*.35+.67*.67+.28*.28+.78*.78)/5, 1e-12)
	// Right: .33 .72 1; wrong: .35 .78. Pairs won: 1 over two, .72 over .35.
	if s.AUROC == nil || math.Abs(*s.AUROC-3./6) > 1e-12 {
		t.Errorf("AUROC %v, want 0.5", s.AUROC)
	}
}

// TestEdges: an edge belongs to the bin below it, and the edges are the
// products that numpy's arange has, not the nearest to 0.3, 0.6 and 0.7.
func TestEdges(t *testing.T) {
	for _, c := range []struct {
		confidence float64
		bin        int
	}{
		{0, 0}, {.1, 0}, {math.Nextafter(.1, 1), 1}, {.2, 1},
		{.3, 2}, {.30000000000000004, 2}, {.3000000000000001, 3},
		{.6000000000000001, 5}, {.7000000000000001, 6}, {.8, 7}, {.9, 8}, {1, 9},
		{math.Nextafter(1, 2), -1}, {-1e-300, -1}, {math.NaN(), -1},
	} {
		if got := binOf(c.confidence); got != c.bin {
			t.Errorf("%v is in bin %d, want %d", c.confidence, got, c.bin)
		}
	}
}

// TestPerfectPredictorHasNoECE: what comes true as often as it is said has an
// ECE near 0 with many questions, and one that overstates by 0.2 has 0.2.
func TestPerfectPredictorHasNoECE(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	perfect, boastful := make([]Outcome, 100_000), make([]Outcome, 100_000)
	for i := range perfect {
		c := rng.Float64() * .8
		perfect[i] = Outcome{Confidence: c, Correct: rng.Float64() < c}
		boastful[i] = Outcome{Confidence: c + .2, Correct: perfect[i].Correct}
	}
	near(t, "ECE of a perfect predictor", ECE(perfect), 0, .006)
	near(t, "ECE of one that overstates", ECE(boastful), .2, .006)
}

// TestReliability compares with what was worked out by hand.
func TestReliability(t *testing.T) {
	got := Reliability(outcomes(t, []float64{.05, .15, .95, 1, .55, .55, .1, 1.5}, "01110111"))
	want := []Bin{{2, .075, .5}, {1, .15, 1}, {2, .55, .5}, {2, .975, 1}}
	for i, b := range want {
		if len(got) != len(want) || got[i].Questions != b.Questions || math.Abs(got[i].Confidence-b.Confidence) > 1e-12 ||
			got[i].Accuracy != b.Accuracy {
			t.Fatalf("%+v, want %+v", got, want)
		}
	}
}

// TestShareInterval compares with the formula as Python works it out.
func TestShareInterval(t *testing.T) {
	for _, c := range []struct {
		right, n  int
		low, high float64
	}{
		{6, 6, 0.6096657, 1},
		{0, 10, 0, 0.2775328},
		{15, 30, 0.3315413, 0.6684587},
		{85, 100, 0.7671644, 0.9069401},
	} {
		low, high := shareInterval(float64(c.right)/float64(c.n), c.n)
		if math.Abs(low-c.low) > 2e-6 || math.Abs(high-c.high) > 2e-6 {
			t.Errorf("%d of %d: %.7f to %.7f, want %.7f to %.7f", c.right, c.n, low, high, c.low, c.high)
		}
	}
	if low, high := shareInterval(0, 0); low != 0 || high != 1 {
		t.Errorf("of nothing: %v to %v", low, high)
	}
}

// TestThresholds, counted by hand: ten right first passages with 0.1, 0.2 … 1, two
// wrong ones, and what is asked in vain.
func TestThresholds(t *testing.T) {
	own := outcomes(t, []float64{.1, .2, .3, .4, .5, .6, .7, .8, .9, 1, .15, .95}, "111111111100")
	taken := outcomes(t, []float64{.05, .15, .25, .5}, "0000")
	got := thresholdsFor(own, taken, outcomes(t, []float64{.01, .05, .12, .2, .6}, "00000"))
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
	if alone := thresholdsFor(own, taken, nil); slices.ContainsFunc(
		alone, func(x Threshold) bool { return x.Unanswerable != nil },
	) {
		t.Error("unanswerable questions that nobody asked")
	}
	for _, x := range thresholdsFor(outcomes(t, []float64{.3}, "0"), taken, nil) {
		if x.Lost != 0 {
			t.Errorf("no first passage is right, and %v of them are lost", x.Lost)
		}
	}
}
