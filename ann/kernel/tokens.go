package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A passage's token vectors are turned (turn) and then stored with two bits a
// number, in blocks of sixteen tokens. A block of dim dimensions is 4·dim
// bytes: for each group of four dimensions sixteen bytes. Bits 2k and 2k+1 of
// byte j of a group are the code of token 4k+j/4 in dimension j%4 of the group.
//
// MaxSim spreads a block to a byte for each number first, [dim/4][16][4]:
// groups of four dimensions, within them the sixteen tokens, within them the
// four levels, each plus 64. One load is then four dimensions of all sixteen
// tokens, and each lane adds up one token. Levels are at most 63 in magnitude, so
// that AVX2's sums of two byte products cannot saturate.
//
// The numbers of a turned unit vector are distributed nearly as a normal
// distribution of deviation 1/√dim. The four levels are those with the least mean
// square error for it (Max 1960, "Quantizing for minimum distortion": 0.453 and 1.510
// deviations, bounded by 0 and 0.982), made larger by a factor such that the
// inner product with the vector that was stored is right on average.

// BlockTokens is the number of token vectors in a block.
const BlockTokens = 16

// MaxTokenDimension is the largest number of elements of a token vector.
const MaxTokenDimension = 256

const (
	innerLevel = 19 // of the codes 1 and 2: magnitudes below tokenBound
	outerLevel = 63 // of the codes 0 and 3
	zeroToken  = 64 // what a byte that is spread has beyond its level

	// groupBytes is the size of four dimensions of a block, spreadBytes that of the same when it is spread.
	groupBytes  = BlockTokens
	spreadBytes = 4 * BlockTokens

	tokenBound = 0.98160 // deviations between the inner and the outer level
	// tokenUnit is how many deviations the level 1 stands for: the inverse of the mean product of a normal number with
	// its level, 2·(63·φ(b) + 19·(φ(0) - φ(b))) for the bound b.
	tokenUnit = 1 / 36.845
)

// TokenUnit returns the number that the level 1 stands for in a token vector of dim dimensions.
func TokenUnit(dim int) float32 { return float32(tokenUnit / math.Sqrt(float64(dim))) }

// CheckTokenDimension returns an error unless dim is a multiple of 4 from 4 to MaxTokenDimension.
func CheckTokenDimension(dim int) error {
	if dim < 4 || dim > MaxTokenDimension || dim%4 != 0 {
		return fmt.Errorf("token vectors of dimension %d; multiples of 4 up to %d are possible", dim, MaxTokenDimension)
	}
	return nil
}

// TokenBytes returns the number of bytes of the blocks of n token vectors, the last block perhaps used in part. dim is
// the number of elements of a token's vector.
func TokenBytes(n, dim int) int { return (n + BlockTokens - 1) / BlockTokens * TokenBlockBytes(dim) }

// TokenBlockBytes returns the number of bytes of one block. dim is the number of elements of a token's vector.
func TokenBlockBytes(dim int) int { return BlockTokens * dim / 4 }

// EncodeTokens writes the blocks of a passage's token vectors, n·dim finite
// elements of which n is at least 1, to blocks, which must have TokenBytes(n, dim). The last block is
// filled up with copies of the last token. A token of zeros, which is to match nothing, becomes a
// copy of the one before it, or of the first that is not zero. Copies change no maximum. Where all are zero, they get
// the codes of a short vector.
func EncodeTokens(tokens []float32, dim int, blocks []byte) {
	clear(blocks)
	var turned [MaxTokenDimension]float32
	bound := float32(tokenBound / math.Sqrt(float64(dim)))
	n := len(tokens) / dim
	filled := firstFilled(tokens, dim)
	for t := range len(blocks) / TokenBlockBytes(dim) * BlockTokens {
		if t < n && !zero(tokens[t*dim:][:dim]) {
			filled = t
		}
		if t == 0 || t == filled {
			copy(turned[:dim], tokens[filled*dim:][:dim])
			turn(turned[:dim])
		}
		putCodes(turned[:dim], bound, blocks, t)
	}
}

// putCodes writes the codes of a turned token vector to the blocks, whose bits there must be 0, as token number t.
// bound is the greatest magnitude of the inner levels.
func putCodes(turned []float32, bound float32, blocks []byte, t int) {
	from, shift := placeOf(t, len(turned))
	limit := math.Float32bits(bound)
	for ; len(turned) >= 4; turned, from = turned[4:], from+groupBytes {
		four := blocks[from : from+4 : from+4]
		for i := range four {
			bits := math.Float32bits(turned[i])
			outer := (limit - bits&^(1<<31)) >> 31 // 1 for a magnitude above the bound
			code := (2 + outer) ^ 3*(bits>>31)
			four[i] |= byte(code) << shift
		}
	}
}

// firstFilled returns the number of the first token that is not all zeros; 0 if there is none. dim is the number of
// elements of a token's vector.
func firstFilled(tokens []float32, dim int) int {
	for t := range len(tokens) / dim {
		if !zero(tokens[t*dim:][:dim]) {
			return t
		}
	}
	return 0
}

// zero reports whether all elements of a vector are 0.
func zero(vector []float32) bool {
	for _, x := range vector {
		if x != 0 {
			return false
		}
	}
	return true
}

// DecodeTokens writes the elements that blocks stand for to tokens, token after token, with the copies that fill the
// last block. tokens needs four elements for each byte of blocks. dim is the number of elements of a token's vector.
// EncodeTokens makes the same blocks of them.
func DecodeTokens(blocks []byte, dim int, tokens []float32) {
	var values [4]float32
	for code := range values {
		values[code] = float32(level(byte(code))-zeroToken) * TokenUnit(dim)
	}
	for t := range 4 * len(blocks) / dim {
		token := tokens[t*dim:][:dim]
		from, shift := placeOf(t, dim)
		for d := 0; d < dim; d, from = d+4, from+groupBytes {
			for i, b := range blocks[from : from+4] {
				token[d+i] = values[b>>shift&3]
			}
		}
		turnBack(token)
	}
}

// placeOf returns where the codes of token number t are: the first four in the bytes from that one on, from the bit
// shift on, and each four more groupBytes later. dim is the number of dimensions.
func placeOf(t, dim int) (from int, shift uint) {
	lane := t % BlockTokens
	return t/BlockTokens*TokenBlockBytes(dim) + lane%4*4, uint(lane / 4 * 2)
}

// level returns the level of the code in the lowest two bits, plus zeroToken: -63, -19, 19 or 63. Since they lie
// symmetrically, each bit adds the same, whatever the other is.
func level(code byte) int32 {
	return zeroToken - outerLevel + (outerLevel-innerLevel)*int32(code&1) + (outerLevel+innerLevel)*int32(code>>1&1)
}

// spreadGo writes the levels of n groups of packed codes to out, which needs four bytes for each of packed, as byte
// j of quarter k of a group's 64: the code in bits 2k and 2k+1 of byte j of the group's 16. No bounds are checked.
func spreadGo(packed *byte, n int, out *byte) {
	const ones = 0x0101010101010101
	for i := range n {
		from, to := row(packed, groupBytes, i), row(out, spreadBytes, i)
		for half := 0; half < groupBytes; half += 8 {
			codes := binary.LittleEndian.Uint64(from[half:])
			for k := range 4 {
				low, high := codes>>(2*k)&ones, codes>>(2*k+1)&ones
				binary.LittleEndian.PutUint64(
					to[groupBytes*k+half:],
					ones*(zeroToken-outerLevel)+low*(outerLevel-innerLevel)+high*(outerLevel+innerLevel),
				)
			}
		}
	}
}
