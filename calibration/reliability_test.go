package calibration

import (
	"math"
	"math/rand/v2"
	"testing"
)

// outcomes pairs confidences with hits.
func outcomes(t *testing.T, confidences []float64, hits string) []Outcome {
	t.Helper()
	if len(hits) != len(confidences) {
		t.Fatalf("%d confidences, %d hits", len(confidences), len(hits))
	}
	all := make([]Outcome, len(confidences))
	for i, c := range confidences {
		all[i] = Outcome{Confidence: c, Correct: hits[i] == '1'}
	}
	return all
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestECE holds a value of the get_ece of MUF's authors, with edges and a
// confidence above 1, and two that were computed apart for CCE.
func TestECE(t *testing.T) {
	ece, err := ECE(outcomes(t, []float64{.05, .15, .95, 1, .55, .55, .1, 1.0000001}, "01110111"))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "the authors' ECE", ece, .23125, 1e-12)

	s, err := Summarise(outcomes(t, []float64{.35, .33, .72, .78, 1}, "01101"))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "absolute ECE", s.ECE, .164, 1e-12)
	near(t, "squared ECE", s.SquaredECE, .03524, 1e-12)
	near(t, "accuracy", s.Accuracy, .6, 1e-12)
	near(t, "mean confidence", s.Confidence, .636, 1e-12)
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

func TestOutsideCounts(t *testing.T) {
	r, err := NewReliability(outcomes(t, []float64{-.5, 1.5, .25}, "011"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Outside != 2 || r.Questions != 3 || r.Bins[2].Questions != 1 {
		t.Errorf("%d outside of %d, %d in the third bin; want 2, 3, 1", r.Outside, r.Questions, r.Bins[2].Questions)
	}
	near(t, "ECE", r.ECE(), .75/3, 1e-12)
}

func TestRefusesNoNumbers(t *testing.T) {
	for name, all := range map[string][]Outcome{
		"none": nil, "not a number": {{Confidence: math.NaN()}}, "infinite": {{Confidence: math.Inf(1)}},
	} {
		if _, err := NewReliability(all); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if _, err := Summarise(all); err == nil {
			t.Errorf("%s: summarised", name)
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
	got, err := ECE(perfect)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "ECE of a perfect predictor", got, 0, .006)
	if got, err = ECE(boastful); err != nil {
		t.Fatal(err)
	}
	near(t, "ECE of one that overstates", got, .2, .006)
}
