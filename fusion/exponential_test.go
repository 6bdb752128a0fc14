package fusion

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
	Exponentials(got, x, 7)
	for i, v := range x {
		if want := math.Exp(v - 7); math.Abs(got[i]-want) > 1e-13*want {
			t.Fatalf("exp(%v) is %v, want %v", v-7, got[i], want)
		}
	}
	Exponentials(got, []float64{0, -40.001, math.Inf(-1), 41, math.Inf(1)}, 0)
	for i, want := range []float64{1, 0, 0, math.Exp(40), math.Exp(40)} {
		if math.Abs(got[i]-want) > 1e-13*want {
			t.Errorf("number %d is %v, want %v", i, got[i], want)
		}
	}
	if Exponentials(got, []float64{math.NaN()}, 0); !math.IsNaN(got[0]) {
		t.Errorf("of what is no number it is %v", got[0])
	}
}

// TestSoftmax: the entropy of likely passages by the series is that by logarithms.
func TestSoftmax(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 2))
	for _, spread := range []float64{0, .1, 2, 10, 30, 100} {
		logits := make([]float64, 100)
		for i := range logits[1:] {
			logits[1+i] = -spread * random.Float64()
		}
		p, marginal := make([]float64, len(logits)), make([]float64, len(logits))
		got := softmax(logits, p, marginal)
		sum, want := 0.0, 0.0
		for _, x := range logits {
			sum += math.Exp(x)
		}
		for i, x := range logits {
			share := math.Exp(x) / sum
			want -= share * math.Log(share+1e-6)
			if math.Abs(p[i]-share) > 1e-12 || marginal[i] != p[i] {
				t.Fatalf("spread %v: the chance of %d is %v, want %v", spread, i, p[i], share)
			}
		}
		if math.Abs(got-want) > 1e-11 {
			t.Errorf("spread %v: entropy %v, want %v", spread, got, want)
		}
	}
}
