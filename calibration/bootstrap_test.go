package calibration

import (
	"math/rand/v2"
	"testing"
)

// TestPerfectECEOfOneQuestion is worked out by hand: with a chance of 0.8 the
// gap is 0.2 in four of five samples and 0.8 in the fifth.
func TestPerfectECEOfOneQuestion(t *testing.T) {
	for _, c := range []struct{ share, want float64 }{{.7, .2}, {.95, .8}} {
		got, err := PerfectECE([]float64{.8}, 1, c.share, 2000, 1)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "the bound", got, c.want, 1e-12)
	}
}

// TestPerfectECEOfTwo is worked out by hand: two questions at 0.5 have a gap of
// 0.5 when both go the same way, half of the time, and of 0 otherwise.
func TestPerfectECEOfTwo(t *testing.T) {
	for _, c := range []struct{ share, want float64 }{{.4, 0}, {.6, .5}} {
		got, err := PerfectECE([]float64{.5}, 2, c.share, 2000, 1)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "the bound", got, c.want, 1e-12)
	}
}

// TestPerfectECEHolds: about one perfectly calibrated sample in twenty
// exceeds the bound, and one that overstates by 0.2 does.
func TestPerfectECEHolds(t *testing.T) {
	const questions = 150
	rng := rand.New(rand.NewPCG(3, 4))
	confidences := make([]float64, 1000)
	for i := range confidences {
		confidences[i] = .2 + .6*rng.Float64()
	}
	bound, err := PerfectECE(confidences, questions, .95, 1000, 5)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := PerfectECE(confidences, questions, .95, 1000, 5)
	other, _ := PerfectECE(confidences, questions, .95, 1000, 6)
	if again != bound || other == bound {
		t.Errorf("bound %v, again %v, with another seed %v", bound, again, other)
	}
	above, caught := 0, 0
	for range 1000 {
		sample, boastful := make([]Outcome, questions), make([]Outcome, questions)
		for i := range sample {
			c := .2 + .6*rng.Float64()
			sample[i] = Outcome{c, rng.Float64() < c}
			boastful[i] = Outcome{c + .2, sample[i].Correct}
		}
		if ece, _ := ECE(sample); ece > bound {
			above++
		}
		if ece, _ := ECE(boastful); ece > bound {
			caught++
		}
	}
	if above < 25 || above > 80 {
		t.Errorf("%d of 1000 perfectly calibrated samples exceed the bound of %v, want about 50", above, bound)
	}
	if caught < 950 {
		t.Errorf("%d of 1000 samples that overstate by 0.2 exceed the bound of %v", caught, bound)
	}
}

func TestPerfectECERefuses(t *testing.T) {
	for _, c := range []struct {
		confidences       []float64
		questions, rounds int
		share             float64
	}{{nil, 1, 1, .5}, {[]float64{.5}, 0, 1, .5}, {[]float64{.5}, 1, 0, .5}, {[]float64{.5}, 1, 1, 0}, {[]float64{.5}, 1, 1, 1.1}, {[]float64{1.5}, 1, 1, .5}} {
		if _, err := PerfectECE(c.confidences, c.questions, c.share, c.rounds, 1); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}
