package run

import (
	"math"
)

// Printed returns a number rounded to nine decimals, as answers have it; numbers above a million stay as they are. The
// contributions of a result then add up to its score to far less than 1e-6, and a float32 such as 0.7123 has no further
// digits.
func Printed(x float64) float64 {
	const decimals = 1e9
	if math.Abs(x) > 1e6 { // no digits to spare
		return x
	}
	return math.Round(x*decimals) / decimals
}

// PrintedOf returns a pointer to *x rounded to nine decimals (Printed); nil if x is nil.
func PrintedOf(x *float64) *float64 {
	if x == nil {
		return nil
	}
	return Ptr(Printed(*x))
}

// Ptr returns a pointer to a copy of x.
func Ptr[T any](x T) *T { return &x }

// LogOdds returns the log-odds of a probability, which is first limited to 0.001 to 0.999.
func LogOdds(p float64) float64 {
	p = min(max(p, 1e-3), 1-1e-3)
	return math.Log(p / (1 - p))
}
