package kernel

import (
	"fmt"
	"math"
	"slices"
)

// Question is the token vectors of a question in the form that MaxSim reads, and the
// scratch memory of MaxSim. One goroutine at a time may use it. The zero value is ready
// for Set, which may be called again.
//
// A token vector is turned as those of passages are and coded as Quantise does: its largest magnitude becomes 127,
// and its scale that magnitude over 127.
type Question struct {
	dim    int
	codes  []int8    // a row of dim a token, rows of zeros up to a multiple of questionTokens
	biases []int32   // what zeroToken adds to a token's product sums
	scales []float32 // of a token's product sums, to those of the elements
	maxima []int32
	spread []byte // the passage being scored, a byte for each number
}

// questionTokens is how many tokens of a question the kernels multiply at once.
const questionTokens = 4

// Set takes over the token vectors of a question, n·dim elements one after the other; it keeps codes and not the
// slice. It returns false if they cannot be scored: there is none, they are no whole vectors, or an element is not
// finite. Then the Question must be set again before it is used.
func (q *Question) Set(tokens []float32, dim int) bool {
	n := len(tokens) / dim
	if n < 1 || n*dim != len(tokens) {
		return false
	}
	rows := (n + questionTokens - 1) / questionTokens * questionTokens
	q.dim = dim
	q.codes = slices.Grow(q.codes[:0], rows*dim)[:rows*dim]
	q.biases = slices.Grow(q.biases[:0], rows)[:rows]
	q.maxima = slices.Grow(q.maxima[:0], rows)[:rows]
	q.scales = slices.Grow(q.scales[:0], n)[:n]
	clear(q.codes[n*dim:])
	clear(q.biases[n:])
	for i := range n {
		if !q.quantise(i, tokens[i*dim:(i+1)*dim]) {
			return false
		}
	}
	return true
}

// quantise sets the codes, the scale and the bias of token number i from its vector, which has q.dim elements. It
// returns false, and sets nothing, if an element is not finite. A vector whose elements are all nearly 0 gets zeros.
func (q *Question) quantise(i int, token []float32) bool {
	var turned [MaxTokenDimension]float32
	copy(turned[:], token)
	token = turned[:q.dim]
	turn(token)
	top := float32(0)
	for _, x := range token {
		top = max(top, float32(math.Abs(float64(x)))) // not a number if any is
	}
	if !(top <= math.MaxFloat32) {
		return false
	}
	codes := q.codes[i*q.dim:][:q.dim]
	scale := top / levels
	if scale < 0x1p-126 { // subnormal: nothing to tell apart
		scale = 0
		clear(codes)
	}
	sum := int32(0)
	for j := range codes {
		if scale > 0 {
			codes[j] = int8(math.RoundToEven(float64(token[j] / scale)))
		}
		sum += int32(codes[j])
	}
	q.biases[i] = zeroToken * sum
	q.scales[i] = scale * TokenUnit(q.dim)
	return true
}

// MaxSim returns the score of a passage whose blocks are given (EncodeTokens): over the tokens of the question, the
// sum of the greatest inner product with a token of the passage (Khattab and Zaharia 2020, "ColBERT", section 3.2).
// All that is compared is integer and the sum is made in the order of the tokens, so that every Set gives the same
// bits. It panics unless blocks are one or more whole blocks of the question's dimension. It writes to q's scratch
// memory.
func (s *Set) MaxSim(q *Question, blocks []byte) float32 {
	count := q.blocks(blocks)
	if len(q.spread) < 4*len(blocks) {
		q.spread = make([]byte, 4*len(blocks))
	}
	s.spread(&blocks[0], len(blocks)/groupBytes, &q.spread[0])
	s.maxDots(&q.codes[0], len(q.maxima), &q.spread[0], count, q.dim, &q.maxima[0])
	score := float32(0)
	for i, scale := range q.scales {
		score += float32(scale * float32(q.maxima[i]-q.biases[i]))
	}
	return score
}

// Codes returns the codes of the question's tokens, dim for each, and their scales. A token's scale times the product
// sum of its codes with a passage's levels is the inner product. Both results are q's own memory, valid until
// the next Set.
func (q *Question) Codes() (codes []int8, scales []float32) {
	return q.codes[:len(q.scales)*q.dim], q.scales
}

// blocks returns the number of blocks of a passage. It panics unless they are whole blocks of the question's dimension,
// and at least one.
func (q *Question) blocks(blocks []byte) int {
	size := TokenBlockBytes(q.dim)
	if size == 0 || len(blocks) == 0 || len(blocks)%size != 0 {
		panic(fmt.Sprintf("kernel: %d bytes of tokens of %d dimensions", len(blocks), q.dim))
	}
	return len(blocks) / size
}
