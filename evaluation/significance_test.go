package evaluation

import (
	"math"
	"testing"
)

// TestPairedRandomisationByEnumeration compares with all 2^n swaps.
func TestPairedRandomisationByEnumeration(t *testing.T) {
	a := []float64{1, 1, 0, 1, 1, 0, 1, 1, 1, 0}
	b := []float64{0, 1, 0, 0, 1, 1, 0, 0, 1, 0}
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
		if math.Abs(sum) >= math.Abs(observed) {
			hits++
		}
	}
	exact := float64(hits) / float64(int(1)<<len(a))
	if got := PairedRandomisation(a, b, 200_000, 7); math.Abs(got-exact) > 0.005 {
		t.Errorf("p is %v, all swaps give %v", got, exact)
	}
	if got := PairedRandomisation(a, a, 1000, 7); got != 1 {
		t.Errorf("p of equal methods is %v, want 1", got)
	}
}
