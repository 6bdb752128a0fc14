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

// Stride is the length in bytes of a row of codes for vectors of dim
// elements: dim, rounded up to whole lines.
func Stride(dim int) int { return (dim + Lanes - 1) / Lanes * Lanes }

// Quantise writes the codes of a vector, Stride(len(vector)) bytes, and
// returns the scale by which a code minus 128 is multiplied to give the
// component again. The largest magnitude of the vector gets the largest code,
// so vectors of very different length lose the same relative precision; no
// component is off by more than half a scale. The scale of a vector of zeros
// is 0.
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

// Query is a vector prepared for products with codes.
type Query struct {
	Bytes []int8  // Stride(dim) components
	Scale float32 // a byte times Scale gives the component again
	bias  int32   // what products with codes hold too much, negated
}

// NewQuery returns room for a query of dim elements.
func NewQuery(dim int) *Query {
	// The bytes start at a line, so that the kernels' loads do not straddle
	// two; allocations of this size are aligned by Go, but that is not promised.
	return &Query{Bytes: make([]int8, Stride(dim))}
}

// SetVector makes q the query of a vector.
func (q *Query) SetVector(vector []float32) {
	codes := bytesOf(q.Bytes)
	q.Scale = Quantise(vector, codes)
	q.signed(codes)
}

// SetCodes makes q the query of a stored row of codes with its scale.
func (q *Query) SetCodes(codes []byte, scale float32) {
	q.Scale = scale
	q.signed(codes)
}

// signed takes the offset from codes, eight at a time.
func (q *Query) signed(codes []byte) {
	sum := int32(0)
	codes = codes[:len(q.Bytes)]
	for i, c := range codes {
		b := int8(c ^ zeroCode)
		q.Bytes[i] = b
		sum += int32(b)
	}
	q.bias = -zeroCode * sum
}
