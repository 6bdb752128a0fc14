package kernel

import (
	"math"
	"unsafe"
)

// The kernels in Go, for processors without the instructions. The tests compare the
// assembly with them.

// row returns the i-th row of length elements from base on. It does not check bounds.
func row[T any](base *T, length, i int) []T {
	return unsafe.Slice((*T)(unsafe.Add(unsafe.Pointer(base), uintptr(i)*uintptr(length)*unsafe.Sizeof(*base))), length)
}

// dotGo writes the inner product of two vectors of dim elements to out. No bounds are checked.
func dotGo(a, b *float32, dim int, out *float32) {
	*out = productGo(unsafe.Slice(a, dim), unsafe.Slice(b, dim))
}

// productGo returns the inner product of a and b, which must be as long as a. It keeps eight sums, so that the
// processor can overlap the additions.
func productGo(a, b []float32) float32 {
	var s [8]float32
	b = b[:len(a)]
	for len(a) >= 8 {
		x, y := a[:8:8], b[:8:8]
		for i := range s {
			s[i] += x[i] * y[i]
		}
		a, b = a[8:], b[8:]
	}
	var rest float32
	for i := range a {
		rest += a[i] * b[i]
	}
	return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7])) + rest
}

// dotRowsGo writes to out the inner products of a query with n consecutive rows of dim elements. No bounds are
// checked.
func dotRowsGo(query *float32, rows *uint16, dim, n int, out *float32) {
	floats := make([]float32, 0, dim)
	q, o := unsafe.Slice(query, dim), unsafe.Slice(out, n)
	for i := range o {
		floats = AppendFloats(floats[:0], row((*Half)(rows), dim, i))
		o[i] = productGo(q, floats)
	}
}

// dotGatherGo writes to out the inner products of a query of dim elements with the n rows whose numbers are in ids.
// No bounds are checked.
func dotGatherGo(query *float32, rows *uint16, dim int, ids *uint32, n int, out *float32) {
	floats := make([]float32, 0, dim)
	q, o := unsafe.Slice(query, dim), unsafe.Slice(out, n)
	for i, id := range unsafe.Slice(ids, n) {
		floats = AppendFloats(floats[:0], row((*Half)(rows), dim, int(id)))
		o[i] = productGo(q, floats)
	}
}

// dotBlockGo writes to out, row by row, the inner products of Block consecutive queries of dim elements with n
// consecutive rows. No bounds are checked.
func dotBlockGo(queries *float32, rows *uint16, dim, n int, out *float32) {
	o := unsafe.Slice(out, Block*n)
	floats := make([]float32, 0, dim)
	for i := range n {
		floats = AppendFloats(floats[:0], row((*Half)(rows), dim, i))
		for j := range Block {
			o[Block*i+j] = productGo(row(queries, dim, j), floats)
		}
	}
}

// codeGo returns the sum of the products of a query with a row of codes, which has half as many bytes: of each line
// first the low four bits, then the high ones.
func codeGo(query []int8, codes []byte) (sum int32) {
	for ; len(codes) >= lineBytes; query, codes = query[lineElements:], codes[lineBytes:] {
		low, high := query[:lineBytes], query[lineBytes:lineElements]
		for i, c := range codes[:lineBytes] {
			sum += int32(low[i])*int32(c&0x0f) + int32(high[i])*int32(c>>4)
		}
	}
	return sum
}

// codeGatherGo writes to out the product sums (codeGo) of a query with the n rows of codes, of stride bytes each, whose
// numbers are in ids. No bounds are checked.
func codeGatherGo(query *int8, codes *byte, stride int, ids *uint32, n int, out *int32) {
	q, o := unsafe.Slice(query, 2*stride), unsafe.Slice(out, n)
	for i, id := range unsafe.Slice(ids, n) {
		o[i] = codeGo(q, row(codes, stride, int(id)))
	}
}

// unpackGo writes, for each code of a number of lines, twice the code less zeroLevel, in the order of a line's
// elements, and returns the sum of the codes. No bounds are checked.
func unpackGo(packed *byte, lines int, out *int8) (sum int) {
	for i := range lines {
		to := row(out, lineElements, i)
		for j, c := range row(packed, lineBytes, i) {
			low, high := int(c&0x0f), int(c>>4)
			to[j], to[lineBytes+j] = int8(2*low-zeroLevel), int8(2*high-zeroLevel)
			sum += low + high
		}
	}
	return sum
}

// maxDotsGo writes to maxima, for each of n tokens of a question, dim codes each, the greatest product sum with a
// token in count blocks, which are spread. No bounds are checked.
func maxDotsGo(codes *int8, n int, blocks *byte, count, dim int, maxima *int32) {
	for i, m := 0, unsafe.Slice(maxima, n); i < n; i++ {
		m[i] = math.MinInt32
		for b := range count {
			for _, s := range tokenSumsGo(row(codes, dim, i), row(blocks, BlockTokens*dim, b)) {
				m[i] = max(m[i], s)
			}
		}
	}
}

// tokenSumsGo returns the inner products of one token's codes with each of the BlockTokens tokens of a block that is
// spread. It holds the tokens' levels four at a time: numbers 0 to 3 of every token, then 4 to 7. The length of codes
// must be a multiple of 4 (the rest is ignored), and block must have BlockTokens times as many bytes.
func tokenSumsGo(codes []int8, block []byte) (sums [BlockTokens]int32) {
	for ; len(codes) >= 4; codes, block = codes[4:], block[4*BlockTokens:] {
		a, b, c, d := int32(codes[0]), int32(codes[1]), int32(codes[2]), int32(codes[3])
		four := block[: 4*BlockTokens : 4*BlockTokens]
		for j := range sums {
			t := four[4*j : 4*j+4 : 4*j+4]
			sums[j] += a*int32(t[0]) + b*int32(t[1]) + c*int32(t[2]) + d*int32(t[3])
		}
	}
	return sums
}
