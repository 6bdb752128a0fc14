package kernel

import "math"

// Lanes is the unit, in bytes, of the length of a row of codes: one cache
// line and one 512-bit register.
const Lanes = 64

// levels is the largest magnitude of a quantised component. It is 127, not
// 128, so that AVX2's byte products are exact (see folder gen).
const levels = 127

// zeroCode is the code of the value 0.
const zeroCode = 128

// Stride returns the length in bytes of a row of codes for vectors of dim
// elements: dim, rounded up to whole lines.
func Stride(dim int) int { return (dim + Lanes - 1) / Lanes * Lanes }

// Quantise writes the codes of a vector, Stride(len(vector)) bytes, and returns the scale by which a code minus 128
// is multiplied to give the component again. The largest magnitude of the vector gets the largest code, so vectors of
// very different length lose the same relative precision; no component is off by more than half a scale. The scale of
// a vector of zeros, or of numbers too small for float32's full precision, is 0. Bytes beyond the vector are codes of
// 0.
func Quantise(vector []float32, codes []byte) float32 {
	top := float32(0)
	for _, x := range vector {
		top = max(top, float32(math.Abs(float64(x))))
	}
	scale := top / levels
	inverse := float32(0)
	if scale > 0 {
		inverse = levels / top
	}
	if math.IsInf(float64(inverse), 1) { // top is subnormal: nothing to tell apart
		scale, inverse = 0, 0
	}
	for i, x := range vector {
		codes[i] = byte(int32(math.RoundToEven(float64(float32(x*inverse)))) + zeroCode)
	}
	for i := len(vector); i < Stride(len(vector)); i++ {
		codes[i] = zeroCode
	}
	return scale
}
