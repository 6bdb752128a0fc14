package evaluation

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// PairedRandomisation returns the two-sided p-value of the hypothesis that two methods are equally good, by their
// scores a and b for the same questions: the share of rounds in which randomly swapping the two scores of each question
// gives a difference of means at least as large as the observed one, with the observed one counted (Smucker, Allan and
// Carterette 2007, §3.3). It panics if the lengths differ. The same seed gives the same value.
func PairedRandomisation(a, b []float64, rounds int, seed uint64) float64 {
	if len(a) != len(b) {
		panic("evaluation: paired scores of different length")
	}
	var sizes []float64 // of the differences; questions on which both agree do not matter
	observed := 0.0
	for i := range a {
		if d := a[i] - b[i]; d != 0 {
			sizes = append(sizes, math.Abs(d))
			observed += d
		}
	}
	groups := groupSizes(sizes)
	rng := rand.New(rand.NewPCG(seed, 0x5eed))
	// A sum of thousands of terms rounds; a difference of that size is a tie.
	threshold := math.Abs(observed) - 1e-9
	asLarge := 1
	for range rounds {
		sum := 0.0
		for _, g := range groups {
			sum += g.size * float64(2*countHeads(rng, g.questions)-g.questions)
		}
		if math.Abs(sum) >= threshold {
			asLarge++
		}
	}
	return float64(asLarge) / float64(rounds+1)
}

// sizeGroup is the number of questions whose scores differ by the same size. Scores take few values (a hit or none, the
// reciprocal of a rank), so there are few groups, and it only matters how many of a group are swapped.
type sizeGroup struct {
	size      float64
	questions int
}

// groupSizes returns the distinct sizes in ascending order, each with its number. It sorts sizes in place.
func groupSizes(sizes []float64) []sizeGroup {
	slices.Sort(sizes)
	var groups []sizeGroup
	for _, s := range sizes {
		if n := len(groups); n == 0 || groups[n-1].size != s {
			groups = append(groups, sizeGroup{size: s})
		}
		groups[len(groups)-1].questions++
	}
	return groups
}

// countHeads returns how many of n tosses of a coin are heads.
func countHeads(rng *rand.Rand, n int) int {
	heads := 0
	for ; n >= 64; n -= 64 {
		heads += bits.OnesCount64(rng.Uint64())
	}
	if n > 0 {
		heads += bits.OnesCount64(rng.Uint64() >> (64 - n))
	}
	return heads
}
