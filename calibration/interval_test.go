package calibration

import (
	"math"
	"testing"
)

// TestShareInterval compares with the formula as Python works it out.
func TestShareInterval(t *testing.T) {
	for _, c := range []struct {
		right, n  int
		low, high float64
	}{
		{6, 6, 0.6096657, 1},
		{0, 10, 0, 0.2775328},
		{15, 30, 0.3315413, 0.6684587},
		{85, 100, 0.7671644, 0.9069401},
	} {
		low, high := shareInterval(float64(c.right)/float64(c.n), c.n)
		if math.Abs(low-c.low) > 2e-6 || math.Abs(high-c.high) > 2e-6 {
			t.Errorf("%d of %d: %.7f to %.7f, want %.7f to %.7f", c.right, c.n, low, high, c.low, c.high)
		}
	}
	if low, high := shareInterval(0, 0); low != 0 || high != 1 {
		t.Errorf("of nothing: %v to %v", low, high)
	}
}
