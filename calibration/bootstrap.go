package calibration

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// PerfectECE is what the ECE of a perfectly calibrated predictor stays below
// in the given share (0.95) of samples: each of the rounds draws so many
// questions' confidences from those given, with replacement, lets each come
// true with its own chance, and takes the ECE. With few questions it is far
// from 0, and an ECE below it is no sign of bad calibration.
func PerfectECE(confidences []float64, questions int, share float64, rounds int, seed uint64) (float64, error) {
	switch {
	case len(confidences) == 0:
		return 0, fmt.Errorf("there are no confidences to draw from")
	case questions < 1 || rounds < 1:
		return 0, fmt.Errorf("%d rounds of %d questions: there must be at least one of each", rounds, questions)
	case !(share > 0 && share <= 1):
		return 0, fmt.Errorf("the share is %v: it must be above 0 and at most 1", share)
	}
	for i, c := range confidences {
		if !(c >= 0 && c <= 1) {
			return 0, fmt.Errorf("confidence %d of %d is %v: it must be between 0 and 1", i+1, len(confidences), c)
		}
	}
	rng := rand.New(rand.NewPCG(seed, 0xca11b8a7e))
	errors := make([]float64, rounds)
	drawn := make([]Outcome, questions)
	var r Reliability
	for round := range errors {
		for i := range drawn {
			c := confidences[rng.IntN(len(confidences))]
			drawn[i] = Outcome{Confidence: c, Correct: rng.Float64() < c}
		}
		r.fill(drawn)
		errors[round] = r.ECE()
	}
	slices.Sort(errors)
	return errors[int(math.Ceil(share*float64(rounds)))-1], nil
}
