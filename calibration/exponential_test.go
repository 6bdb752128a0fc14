package calibration

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestExponentials compares with math.Exp, and at the ends of the range.
func TestExponentials(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	x := make([]float64, 200_000)
	for i := range x {
		x[i] = 7 + 80*random.Float64() - 40
		if i%2 == 0 {
			x[i] = 7 + random.NormFloat64()*1e-3
		}
	}
	got := make([]float64, len(x))
	exponentials(got, x, 7)
	for i, v := range x {
		if want := math.Exp(v - 7); math.Abs(got[i]-want) > 1e-13*want {
			t.Fatalf("exp(%v) is %v, want %v", v-7, got[i], want)
		}
	}
	exponentials(got, []float64{0, -40.001, math.Inf(-1), 41, math.Inf(1)}, 0)
	for i, want := range []float64{1, 0, 0, math.Exp(40), math.Exp(40)} {
		if math.Abs(got[i]-want) > 1e-13*want {
			t.Errorf("number %d is %v, want %v", i, got[i], want)
		}
	}
	if exponentials(got, []float64{math.NaN()}, 0); !math.IsNaN(got[0]) {
		t.Errorf("of what is no number it is %v", got[0])
	}
}
