package calibration

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// bruteIsotonic finds the never falling function with the least squared error
// by trying every way to cut the distinct scores into runs that share a mean.
func bruteIsotonic(all []scoredOutcome) map[float64]float64 {
	sums, sizes := map[float64]float64{}, map[float64]float64{}
	var scores []float64
	for _, o := range all {
		if sizes[o.Score] == 0 {
			scores = append(scores, o.Score)
		}
		sizes[o.Score]++
		if o.Correct {
			sums[o.Score]++
		}
	}
	slices.Sort(scores)
	best := map[float64]float64{}
	least := math.Inf(1)
	for cuts := range 1 << (len(scores) - 1) {
		fitted := map[float64]float64{}
		previous := math.Inf(-1)
		loss := 0.0
		rises := true
		for i := 0; i < len(scores); {
			sum := sums[scores[i]]
			size := sizes[scores[i]]
			j := i + 1
			for ; j < len(scores) && cuts>>(j-1)&1 == 0; j++ {
				sum += sums[scores[j]]
				size += sizes[scores[j]]
			}
			chance := sum / size
			rises = rises && chance >= previous
			previous = chance
			for ; i < j; i++ {
				fitted[scores[i]] = chance
			}
		}
		for _, o := range all {
			gap := fitted[o.Score] - (Outcome{Correct: o.Correct}).correct()
			loss += gap * gap
		}
		if rises && loss < least-1e-12 {
			best, least = fitted, loss
		}
	}
	return best
}

func TestIsotonicAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		all := make([]scoredOutcome, 1+rng.IntN(11))
		for i := range all {
			score := float64(rng.IntN(9)) - 4
			all[i] = scoredOutcome{Score: score, Correct: rng.Float64() < .5+score/10}
		}
		f, err := fitIsotonic(all)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Validate(); err != nil {
			t.Fatalf("%v: %v: %v", all, f, err)
		}
		for score, want := range bruteIsotonic(all) {
			if got := f.Of(score); math.Abs(got-want) > 1e-12 {
				t.Fatalf("%v: at %v %v, want %v", all, score, got, want)
			}
		}
	}
}

// TestIsotonicByHand: 1 wrong; 2 right, 3 wrong pooled to a half; 5 and 6
// right. Between the steps straight lines.
func TestIsotonicByHand(t *testing.T) {
	all := []scoredOutcome{{6, true, 0}, {1, false, 0}, {3, false, 0}, {2, true, 0}, {5, true, 0}}
	f, err := fitIsotonic(all)
	if err != nil {
		t.Fatal(err)
	}
	want := []Step{{1, 1, 0}, {2, 3, .5}, {5, 6, 1}}
	if !slices.Equal(f.Steps, want) {
		t.Errorf("steps %v, want %v", f.Steps, want)
	}
	for _, c := range [][2]float64{{-9, 0}, {1, 0}, {1.5, .25}, {2, .5}, {2.5, .5}, {3, .5}, {4, .75}, {4.5, .875},
		{5, 1}, {99, 1}} {
		near(t, "the chance", f.Of(c[0]), c[1], 1e-15)
	}
	near(t, "the chance of no function", Isotonic{}.Of(1), 0, 0)
}

func TestIsotonicRefuses(t *testing.T) {
	for _, all := range [][]scoredOutcome{nil, {{math.NaN(), true, 0}}, {{math.Inf(-1), true, 0}}} {
		if _, err := fitIsotonic(all); err == nil {
			t.Errorf("%v was accepted", all)
		}
	}
	for _, steps := range [][]Step{
		nil, {{2, 1, .5}}, {{1, 2, 1.5}}, {{1, 2, math.NaN()}}, {{math.NaN(), 2, .5}}, {{1, math.Inf(1), .5}},
		{{1, 2, .5}, {2, 3, .6}}, {{1, 2, .5}, {3, 4, .4}},
	} {
		if err := (Isotonic{steps}).Validate(); err == nil {
			t.Errorf("%v is valid", steps)
		}
	}
}
