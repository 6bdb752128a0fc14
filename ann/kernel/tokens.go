package kernel

import (
	"fmt"
	"math"
)

// A passage's token vectors lie in blocks of sixteen. A block of dim dimensions
// is 16·dim bytes, [dim/4][16][4]: groups of four dimensions, within them the
// sixteen tokens, within them the four codes. One load is then four dimensions
// of all sixteen tokens, and each lane adds up one token.
//
// A code is an element times TokenScale, rounded, at most 63 in magnitude, plus
// 64: a byte from 1 to 127. Seven bits and not eight, so that AVX2's sums of two
// byte products cannot saturate.

// BlockTokens is the number of token vectors in a block.
const BlockTokens = 16

// MaxTokenDimension is the largest number of elements of a token vector.
const MaxTokenDimension = 256

const (
	tokenLevels = 63 // the largest magnitude of a code
	zeroToken   = 64 // the byte of the value 0
	// tokenSpread is how many standard deviations of an element of a unit vector,
	// 1/√dim each, the largest code stands for. Elements beyond are cut off.
	tokenSpread = 4
)

// TokenScale returns what an element of a token vector is multiplied by to give its
// code: 63·√dim/4.
func TokenScale(dim int) float32 {
	return float32(tokenLevels * math.Sqrt(float64(dim)) / tokenSpread)
}

// CheckTokenDimension returns an error unless dim is a multiple of 4 from 4 to MaxTokenDimension.
func CheckTokenDimension(dim int) error {
	if dim < 4 || dim > MaxTokenDimension || dim%4 != 0 {
		return fmt.Errorf("token vectors of dimension %d; multiples of 4 up to %d are possible", dim, MaxTokenDimension)
	}
	return nil
}

// TokenBlocks returns the number of blocks that n token vectors fill, the last one perhaps in part.
func TokenBlocks(n int) int { return (n + BlockTokens - 1) / BlockTokens }

// EncodeTokens writes the blocks of a passage's token vectors, n·dim finite
// elements of which n is at least 1, to TokenBlocks(n) blocks. The last block is
// filled up with copies of the last token, which change no maximum.
func EncodeTokens(tokens []float32, dim int, blocks []byte) {
	scale := TokenScale(dim)
	n := len(tokens) / dim
	for t := range TokenBlocks(n) * BlockTokens {
		token := tokens[min(t, n-1)*dim:][:dim]
		for d, x := range token {
			blocks[tokenAt(t, d, dim)] = TokenCode(x, scale)
		}
	}
}

// TokenCode returns the code of one element of a token's vector, rounded to the nearest level; scale is TokenScale of
// the dimension. An element above the highest level or below the lowest gets the code of that. Of what TokenValue
// returns for a code, TokenCode returns the same code.
func TokenCode(x, scale float32) byte {
	level := math.RoundToEven(float64(float32(x * scale)))
	return byte(int32(max(-tokenLevels, min(level, tokenLevels))) + zeroToken)
}

// TokenValue returns the element that a code stands for. scale is TokenScale of the dimension.
func TokenValue(code byte, scale float32) float32 {
	return float32(int32(code)-zeroToken) / scale
}

// DecodeTokens writes the elements that blocks stand for to tokens, token after token, with the copies that fill the
// last block. tokens needs an element for each byte of blocks. dim is the number of elements of a token's vector.
func DecodeTokens(blocks []byte, dim int, tokens []float32) {
	scale := TokenScale(dim)
	for t := range len(blocks) / dim {
		for d := range dim {
			tokens[t*dim+d] = TokenValue(blocks[tokenAt(t, d, dim)], scale)
		}
	}
}

// tokenAt returns the offset in the blocks of the code of token number t in dimension d. dim is the number of
// dimensions.
func tokenAt(t, d, dim int) int {
	return t/BlockTokens*BlockTokens*dim + d/4*4*BlockTokens + t%BlockTokens*4 + d%4
}

// CheckTokens returns an error for the first byte of blocks that is no code (1 to 127), else nil.
func CheckTokens(blocks []byte) error {
	for i, b := range blocks {
		if b < zeroToken-tokenLevels || b > zeroToken+tokenLevels {
			return fmt.Errorf("byte %d is %d; codes are from %d to %d", i, b, zeroToken-tokenLevels, zeroToken+tokenLevels)
		}
	}
	return nil
}
