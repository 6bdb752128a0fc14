package kernel

import (
	"math"
	"slices"
)

// lineBytes is the unit, in bytes, of the length of a row of codes: one cache line and one 512-bit register. It has the
// codes of lineElements elements: the first half in the low four bits of its bytes, the second half in the high ones.
const (
	lineBytes    = 64
	lineElements = 2 * lineBytes
)

// MaxDimension is the largest number of elements of a vector that has a code: a product sum of codes must fit 32 bits.
const MaxDimension = 1 << 14

// levels is the largest magnitude of a query's quantised component. It is 127, not 128, so that AVX2's byte products
// are exact (see folder gen).
const levels = 127

// A code c of four bits stands for (2c - zeroLevel) / 2 steps. A step is 1/7.5 of clippedAt standard deviations of a
// turned vector's components, which are distributed nearly normally; components beyond are clipped. Between 2.4 and 3
// standard deviations recall was the same.
const (
	zeroLevel = 15
	topCode   = 15
	clippedAt = 2.6
)

// Stride returns the length in bytes of a row of codes for vectors of dim elements: four bits for each, rounded up to
// whole lines.
func Stride(dim int) int { return (dim + lineElements - 1) / lineElements * lineBytes }

// Coder makes codes of vectors. The zero value is ready. One goroutine at a time may use it.
type Coder struct{ turned []float32 }

// Encode writes the codes of a vector, Stride(len(vector)) bytes, and returns its scale, by which Query.Score
// multiplies. The vector is turned first (turnVector), so that codes lose as little of a vector that has most of its
// length in few elements. The scale makes the vector's inner product with what its codes stand for right (RaBitQ's
// estimator, Gao and Long, SIGMOD 2024), so that scores are neither too high nor too low on average. The scale of a
// vector of zeros is 0.
func (c *Coder) Encode(vector []float32, codes []byte) (scale float32) {
	length := c.turn(vector)
	clear(codes)
	if length == 0 {
		return 0
	}
	step := clippedAt / (zeroLevel / 2.0) / math.Sqrt(float64(len(vector)))
	var product float64
	for i, x := range c.turned {
		code := int(math.Floor(float64(x)/step)) + (zeroLevel+1)/2
		code = max(0, min(topCode, code))
		product += float64(float64(x) * float64(2*code-zeroLevel)) // rounded, so that no processor adds unrounded products
		shift := i / lineBytes % 2 * 4
		codes[i/lineElements*lineBytes+i%lineBytes] |= byte(code << shift)
	}
	return float32(length / product)
}

// turn sets c.turned to the turned vector, scaled to length 1, and returns the vector's own length. If that is 0 or as
// good as 0, it returns 0.
func (c *Coder) turn(vector []float32) (length float64) {
	c.turned = append(slices.Grow(c.turned[:0], len(vector)), vector...)
	var square float64
	for _, x := range vector {
		square += float64(float64(x) * float64(x))
	}
	length = math.Sqrt(square)
	if length < 0x1p-100 {
		return 0
	}
	for i := range c.turned {
		c.turned[i] = float32(float64(c.turned[i]) / length)
	}
	turnVector(c.turned)
	return length
}

// Query is a vector in the form that CodeGather multiplies with codes. The zero value has no elements; Set and
// Set.SetRow give it some. One goroutine at a time may use it.
type Query struct {
	coder Coder
	codes []int8 // with zeros up to whole lines
	scale float32
	bias  int32 // what Score subtracts from a doubled product sum
}

// Set makes a vector the query, with eight bits an element.
func (q *Query) Set(vector []float32) {
	q.resize(len(vector))
	length := q.coder.turn(vector)
	top := float32(0)
	for _, x := range q.coder.turned {
		top = max(top, float32(math.Abs(float64(x))))
	}
	q.scale = float32(length * float64(top) / levels)
	q.bias = 0
	if length == 0 {
		clear(q.codes)
		return
	}
	for i, x := range q.coder.turned {
		q.codes[i] = int8(math.RoundToEven(float64(levels * float64(x) / float64(top))))
		q.bias += zeroLevel * int32(q.codes[i])
	}
}

// SetRow makes a vector of dim elements, of which only codes and scale are known, the query q.
func (s *Set) SetRow(q *Query, codes []byte, scale float32, dim int) {
	q.resize(dim)
	q.scale = scale
	sum := s.unpack(&codes[0], len(codes)/lineBytes, &q.codes[0])
	clear(q.codes[dim:])
	q.bias = int32(zeroLevel * (2*sum - zeroLevel*dim)) // codes beyond dim are 0
}

// resize gives the query room for dim elements in whole lines, and sets those beyond dim to 0.
func (q *Query) resize(dim int) {
	n := 2 * Stride(dim)
	q.codes = slices.Grow(q.codes[:0], n)[:n]
	clear(q.codes[dim:])
}

// Score returns the approximate inner product of the query and a vector, for the sum that CodeGather found and the
// vector's scale.
func (q *Query) Score(sum int32, scale float32) float32 {
	return float32(2*sum-q.bias) * (scale * q.scale)
}
