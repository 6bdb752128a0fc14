package evaluation

import (
	"math"
	"testing"
)

// exactly returns the p-value by all 2^n swaps.
func exactly(a, b []float64) float64 {
	observed := 0.0
	for i := range a {
		observed += a[i] - b[i]
	}
	hits := 0
	for swaps := range 1 << len(a) {
		sum := 0.0
		for i := range a {
			d := a[i] - b[i]
			if swaps>>i&1 == 1 {
				d = -d
			}
			sum += d
		}
		if math.Abs(sum) >= math.Abs(observed)-1e-12 {
			hits++
		}
	}
	return float64(hits) / float64(int(1)<<len(a))
}

// TestPairedRandomisationByEnumeration compares with all 2^n swaps.
func TestPairedRandomisationByEnumeration(t *testing.T) {
	for name, c := range map[string]struct{ a, b []float64 }{
		"hits":      {[]float64{1, 1, 0, 1, 1, 0, 1, 1, 1, 0}, []float64{0, 1, 0, 0, 1, 1, 0, 0, 1, 0}},
		"all apart": {[]float64{.9, .31, .7, .42, .55, .66}, []float64{.1, .4, .2, .11, .9, .13}},
		"weighted":  {[]float64{1.5, 1.5, .7, 0, .7, 0, .7}, []float64{0, 0, 0, .7, 0, 1.5, 0}},
		"one way":   {[]float64{1, 1, 1, 1, 1}, []float64{0, 0, 0, 0, 0}},
	} {
		want := exactly(c.a, c.b)
		if got := PairedRandomisation(c.a, c.b, 200_000, 7); math.Abs(got-want) > 0.005 {
			t.Errorf("%s: p is %v, all swaps give %v", name, got, want)
		}
		if got := PairedRandomisation(c.a, c.a, 1000, 7); got != 1 {
			t.Errorf("%s: p of equal methods is %v, want 1", name, got)
		}
	}
}

// TestPairedRandomisationOfMany: with n differences of one size, d more of them
// one way, the sum is binomial, and near normal for many: 500 questions, 290 to
// 210, are 80/√500 = 3.578 deviations apart, with the correction for
// continuity 79/√500 = 3.533, p = 0.000411.
func TestPairedRandomisationOfMany(t *testing.T) {
	a, b := make([]float64, 1000), make([]float64, 1000)
	for i := range 500 {
		if i < 290 {
			a[i] = 1
		} else {
			b[i] = 1
		}
	}
	if got := PairedRandomisation(a, b, 400_000, 3); math.Abs(got-0.000411) > 0.0001 {
		t.Errorf("p is %v, the normal approximation gives 0.000411", got)
	}
}
