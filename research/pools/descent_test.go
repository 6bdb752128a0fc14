package pools

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.org/conclave/calibration"
)

// Worked out by hand: bins .3 (.35 right not, .33 right) and .7 (.72 right, .78 not) and
// 1 (rightValue): 2/5·(.34-.5)² + 2/5·(.75-.5)² + 0 = .01024 + .025.
func TestSquaredECE(t *testing.T) {
	var outcomes []calibration.Outcome
	for i, c := range []float64{.35, .33, .72, .78, 1} {
		outcomes = append(outcomes, calibration.Outcome{Confidence: c, Correct: []bool{false, true, true, false, true}[i]})
	}
	if got, _ := squaredECE(outcomes, make([]float64, len(outcomes))); math.Abs(got-.03524) > 1e-12 {
		t.Errorf("squared ECE %.9f, want .03524", got)
	}
}

// asked returns questions of two granularities with gaps that say how likely they are
// right: at temperature true, the probability of the first of two scores is the chance.
func asked(n int, temperature float64) []granular {
	r := rand.New(rand.NewPCG(19, 83))
	out := make([]granular, n)
	for i := range out {
		for range 2 {
			gap := r.ExpFloat64() * 2 * temperature
			chance := 1 / (1 + math.Exp(-gap/temperature))
			out[i].scores = append(out[i].scores, []float64{.8, .8 - gap})
			out[i].right = append(out[i].right, r.Float64() < chance)
		}
	}
	return out
}

// The gradient is the difference quotient, where no outcome changes its bin and none
// becomes the surest in place of another.
func TestSquaredECEGradient(t *testing.T) {
	questions := asked(6, .1)
	at := func(temperature float64) (float64, float64) {
		var outcomes []calibration.Outcome
		var slopes []float64
		for i := range questions {
			o, s := questions[i].surest(temperature)
			outcomes, slopes = append(outcomes, o), append(slopes, s)
		}
		return squaredECE(outcomes, slopes)
	}
	const h = 1e-7
	for _, temperature := range []float64{.05, .11, .31} {
		above, _ := at(temperature + h)
		below, _ := at(temperature - h)
		_, got := at(temperature)
		if want := (above - below) / (2 * h); math.Abs(got-want) > 1e-4*max(1, math.Abs(want)) {
			t.Errorf("at %g: gradient %g, the difference quotient is %g", temperature, got, want)
		}
	}
}

// As printed the descent leaves for the bounds of what it may reach; with back-tracking
// no step makes the squared ECE worse.
func TestDescent(t *testing.T) {
	questions := asked(2000, .07)
	printed, tracked := descent(questions, false), descent(questions, true)
	if lowest, highest := slices.Min(printed.Temperatures), slices.Max(printed.Temperatures); lowest > lowestTemperature &&
		highest < highestTemperature {
		t.Errorf("as printed: %v", printed.Temperatures)
	}
	for i := 1; i < len(tracked.SquaredECE); i++ {
		if tracked.SquaredECE[i] >= tracked.SquaredECE[i-1] {
			t.Fatalf("step %d of %v made the squared ECE worse: %v", i, tracked.Temperatures, tracked.SquaredECE)
		}
	}
	if end := tracked.Temperatures[len(tracked.Temperatures)-1]; math.Abs(math.Log(end/.07)) > .3 {
		t.Errorf("with back-tracking it ends at %g, drawn at .07", end)
	}
}
