package evaluation

import (
	"math"
	"math/rand/v2"
)

// PairedRandomisation is the two-sided p-value of the hypothesis that two
// methods are equally good, given their scores on the same questions: the
// share of rounds in which randomly swapping the two scores of each question
// gives a difference of means at least as large as the observed one, with the
// observed one counted (Smucker, Allan and Carterette 2007, §3.3). It panics
// when the lengths differ. The same seed gives the same value.
func PairedRandomisation(a, b []float64, rounds int, seed uint64) float64 {
	if len(a) != len(b) {
		panic("evaluation: paired scores of different length")
	}
	var differences []float64 // questions on which both agree do not matter
	observed := 0.0
	for i := range a {
		if d := a[i] - b[i]; d != 0 {
			differences = append(differences, d)
			observed += d
		}
	}
	rng := rand.New(rand.NewPCG(seed, 0x5eed))
	// A sum of thousands of terms rounds; a difference of that size is a tie.
	threshold := math.Abs(observed) - 1e-9
	asLarge := 1
	for range rounds {
		sum, bits, left := 0.0, uint64(0), 0
		for _, d := range differences {
			if left == 0 {
				bits, left = rng.Uint64(), 64
			}
			if bits&1 == 0 {
				d = -d
			}
			bits >>= 1
			left--
			sum += d
		}
		if math.Abs(sum) >= threshold {
			asLarge++
		}
	}
	return float64(asLarge) / float64(rounds+1)
}
