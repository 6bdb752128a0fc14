package calibration

import (
	"math"
	"math/rand/v2"
	"slices"
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

// perfectECE returns what the ECE of a perfectly calibrated predictor with these
// confidences stays below in 99 of 100 samples.
func perfectECE(of []Outcome) float64 {
	rng := rand.New(rand.NewPCG(1, 0xca11b8a7e))
	eces := make([]float64, 300)
	drawn := make([]Outcome, len(of))
	for round := range eces {
		for i := range drawn {
			c := of[rng.IntN(len(of))].Confidence
			drawn[i] = Outcome{Confidence: c, Correct: rng.Float64() < c}
		}
		eces[round] = ECE(drawn)
	}
	slices.Sort(eces)
	return eces[296]
}
