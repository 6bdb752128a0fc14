package kernel

import "math"

// Half is a number of half precision (IEEE 754 binary16): a sign, 5 bits of exponent and 10 of fraction.
type Half uint16

// MaxHalf is the largest finite Half.
const MaxHalf = 65504

// RoundHalf returns the Half nearest to x, of two equally near ones the even one. From 65,520 on it is an infinity;
// below 2^-25, 0. A NaN stays one.
func RoundHalf(x float32) Half {
	bits := math.Float32bits(x)
	sign := Half(bits >> 16 & 0x8000)
	bits &= 0x7fffffff
	switch {
	case bits > 0x7f800000:
		return sign | 0x7e00
	case bits >= 0x477ff000: // 65,520
		return sign | 0x7c00
	case bits < 0x38800000: // below 2^-14, the fraction counts steps of 2^-24
		return sign | Half(math.RoundToEven(float64(math.Float32frombits(bits))*0x1p24))
	}
	bits -= 112 << 23 // the other bias of the exponent
	return sign | Half((bits+0xfff+bits>>13&1)>>13)
}

// IsFinite reports whether the number is neither an infinity nor NaN.
func (h Half) IsFinite() bool { return h&0x7c00 != 0x7c00 }

// Float returns the number, exactly.
func (h Half) Float() float32 {
	sign := uint32(h&0x8000) << 16
	rest := uint32(h & 0x7fff)
	switch {
	case rest >= 0x7c00:
		return math.Float32frombits(sign | 0x7f800000 | rest&0x3ff<<13)
	case rest < 0x400:
		return math.Float32frombits(sign | math.Float32bits(float32(rest)*0x1p-24))
	}
	return math.Float32frombits(sign | (rest+112<<10)<<13)
}

// AppendFloats appends the numbers of some halves to floats and returns the result.
func AppendFloats(floats []float32, halves []Half) []float32 {
	for _, h := range halves {
		floats = append(floats, h.Float())
	}
	return floats
}

// AppendHalves appends the halves nearest to some numbers to halves and returns the result.
func AppendHalves(halves []Half, floats []float32) []Half {
	for _, x := range floats {
		halves = append(halves, RoundHalf(x))
	}
	return halves
}
