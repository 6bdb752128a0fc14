package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vector is an instruction set's way to add up products of floats. Every
// product sum keeps two accumulators: chunks alternate between them, and the
// rest goes to the first. The order of additions is therefore the same
// whether a row is alone, one of four, or met by four queries at once, and so
// is the result to the last bit.
type vector interface {
	name() string
	lanes() int
	register() reg.VecVirtual
	// tail adds the products of the last elements (fewer than lanes) of one, from at up to dim, with those of each of
	// many to sums. It changes at.
	tail(one row, many []row, sums []pair, at, dim reg.Register, label string)
	sum(p pair, out Mem)
}

// row is a vector in memory, from the address in at on. Its elements have size bytes: 4 for float32, 2 for half
// precision, which is converted as it is read.
type row struct {
	at   reg.Register
	size int
}

// rowsOf returns the vectors at some addresses, of elements of size bytes.
func rowsOf(addresses []reg.GPVirtual, size int) []row {
	out := make([]row, len(addresses))
	for i, a := range addresses {
		out[i] = row{a, size}
	}
	return out
}

// element returns the place of the element that is offset behind the index-th.
func (r row) element(index reg.Register, offset int) Mem {
	return Mem{Base: r.at, Index: index, Scale: uint8(r.size), Disp: offset * r.size}
}

// load emits code that loads as many elements at m as dst has lanes, as float32.
func (r row) load(m Op, dst reg.VecVirtual) {
	if r.size == 2 {
		VCVTPH2PS(m, dst)
		return
	}
	VMOVUPS(m, dst)
}

// pair is the two accumulators of one product sum.
type pair [2]reg.VecVirtual

// pairs returns n pairs of new registers.
func pairs(v vector, n int) []pair {
	out := make([]pair, n)
	for i := range out {
		out[i] = pair{v.register(), v.register()}
	}
	return out
}

// zero emits code that sets all registers of some pairs to 0.
func zero(sums []pair) {
	for _, p := range sums {
		for _, r := range p {
			VXORPS(r.AsX(), r.AsX(), r.AsX()) // clears the whole register
		}
	}
}

// dot emits the kernel dot, which multiplies two vectors of float32, for an instruction set.
func dot(v vector) {
	name := "dot" + v.name()
	TEXT(name, NOSPLIT, "func(a, b *float32, dim int, out *float32)")
	Pragma("noescape")
	Doc(name + " writes the product sum of two vectors.")
	a, b := row{Load(Param("a"), GP64()), 4}, row{Load(Param("b"), GP64()), 4}
	dim := Load(Param("dim"), GP64())
	out := Load(Param("out"), GP64())
	sums := pairs(v, 1)
	zero(sums)
	products(v, a, []row{b}, dim, sums, "vectors")
	v.sum(sums[0], Mem{Base: out})
	VZEROUPPER()
	RET()
}

// dotRows emits the kernel dotRows, which multiplies one query with consecutive rows of half precision, or if gather is
// set dotGather, with rows named by numbers, for an instruction set.
func dotRows(v vector, gather bool) {
	name := "dotRows" + v.name()
	signature := "func(query *float32, rows *uint16, dim, n int, out *float32)"
	doc := "the product sums of a query with n consecutive rows of half precision."
	if gather {
		name = "dotGather" + v.name()
		signature = "func(query *float32, rows *uint16, dim int, ids *uint32, n int, out *float32)"
		doc = "the product sums of a query with the n rows of half precision named by ids."
	}
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(name + " writes " + doc)
	query := row{Load(Param("query"), GP64()), 4}
	cursor := rowCursor{base: Load(Param("rows"), GP64()), stride: GP64()}
	dim := Load(Param("dim"), GP64())
	if gather {
		cursor.ids = Load(Param("ids"), GP64())
	}
	n := Load(Param("n"), GP64())
	out := Load(Param("out"), GP64())
	LEAQ(Mem{Base: dim, Index: dim, Scale: 1}, cursor.stride)

	// Consecutive rows are read one by one: some processors prefetch one stream but not
	// four side by side, which took two and a half times as long. Scattered rows are
	// faster in fours.
	widths := []int{1}
	if gather {
		widths = []int{4, 1}
	}
	for _, width := range widths {
		loop, done := fmt.Sprintf("rows%d", width), fmt.Sprintf("rows%ddone", width)
		Label(loop)
		CMPQ(n, U8(width))
		JL(LabelRef(done))
		rows := cursor.rows(width)
		sums := pairs(v, width)
		zero(sums)
		products(v, query, rowsOf(rows, 2), dim, sums, loop)
		for i, p := range sums {
			v.sum(p, Mem{Base: out, Disp: 4 * i})
		}
		cursor.advance(width)
		ADDQ(U8(4*width), out)
		SUBQ(U8(width), n)
		JMP(LabelRef(loop))
		Label(done)
	}
	VZEROUPPER()
	RET()
}

// products emits code that adds the products of one vector with each of some others, of dim elements, to sums. label
// must be unique in the kernel.
func products(v vector, one row, many []row, dim reg.Register, sums []pair, label string) {
	at, end := GP64(), GP64()
	XORQ(at, at)
	step := func(accumulator, offset int) {
		q := v.register()
		one.load(one.element(at, offset), q)
		for i, r := range many {
			if r.size == 4 {
				VFMADD231PS(r.element(at, offset), q, sums[i][accumulator])
				continue
			}
			x := v.register()
			r.load(r.element(at, offset), x)
			VFMADD231PS(x, q, sums[i][accumulator])
		}
	}
	fits := func(n int, otherwise string) {
		LEAQ(Mem{Base: at, Disp: n * v.lanes()}, end)
		CMPQ(end, dim)
		JG(LabelRef(otherwise))
	}
	Label(label + "two")
	fits(2, label+"one")
	step(0, 0)
	step(1, v.lanes())
	MOVQ(end, at)
	JMP(LabelRef(label + "two"))
	Label(label + "one")
	fits(1, label+"tail")
	step(0, 0)
	MOVQ(end, at)
	Label(label + "tail")
	CMPQ(at, dim)
	JE(LabelRef(label + "end"))
	v.tail(one, many, sums, at, dim, label)
	Label(label + "end")
}

// dotBlock emits the kernel dotBlock for an instruction set: four queries with many rows of half precision. Each row
// comes from memory once, for an exact search with several questions at a time.
func dotBlock(v vector) {
	name := "dotBlock" + v.name()
	TEXT(name, NOSPLIT, "func(queries *float32, rows *uint16, dim, n int, out *float32)")
	Pragma("noescape")
	Doc(name + " writes, row by row, the product sums of four consecutive queries with n consecutive rows of half precision.")
	queries := Load(Param("queries"), GP64())
	rows := rowCursor{base: Load(Param("rows"), GP64()), stride: GP64()}
	dim := Load(Param("dim"), GP64())
	n := Load(Param("n"), GP64())
	out := Load(Param("out"), GP64())
	size := GP64()
	MOVQ(dim, size)
	SHLQ(U8(2), size)
	LEAQ(Mem{Base: dim, Index: dim, Scale: 1}, rows.stride)
	asked := rowsOf(rowCursor{base: queries, stride: size}.rows(4), 4)

	Label("rows")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	sums := pairs(v, 4)
	zero(sums)
	// The row is loaded once for all four.
	products(v, row{rows.base, 2}, asked, dim, sums, "rows")
	for i, p := range sums {
		v.sum(p, Mem{Base: out, Disp: 4 * i})
	}
	rows.advance(1)
	ADDQ(U8(16), out)
	DECQ(n)
	JMP(LabelRef("rows"))
	Label("done")
	VZEROUPPER()
	RET()
}

type avx2 struct{}

// name returns the suffix of the kernels' names for this instruction set.
func (avx2) name() string { return "AVX2" }

// lanes returns the number of float32 in a register.
func (avx2) lanes() int { return 8 }

// register returns a new 256-bit register.
func (avx2) register() reg.VecVirtual { return YMM() }

// tail emits a loop that adds the products of one with each of many from element at up to dim, one by one, to sums, in
// the lowest lane of a register of its own. It changes at.
func (avx2) tail(one row, many []row, sums []pair, at, dim reg.Register, label string) {
	// A scalar product in lane 0 would clear the lanes above it, so it is
	// done in a register of its own and added once.
	singles := make([]reg.VecVirtual, len(many))
	for i := range singles {
		singles[i] = XMM()
		VXORPS(singles[i], singles[i], singles[i])
	}
	Label(label + "single")
	q := XMM()
	one.loadSingle(at, q)
	for j, r := range many {
		x := XMM()
		r.loadSingle(at, x)
		VFMADD231SS(x, q, singles[j])
	}
	INCQ(at)
	CMPQ(at, dim)
	JL(LabelRef(label + "single"))
	for j := range many {
		VADDPS(singles[j].AsY(), sums[j][0], sums[j][0])
	}
}

// loadSingle emits code that loads the index-th element as float32 into the lowest lane of dst.
func (r row) loadSingle(index reg.Register, dst reg.VecVirtual) {
	if r.size == 4 {
		VMOVSS(r.element(index, 0), dst)
		return
	}
	half := GP32()
	MOVWLZX(r.element(index, 0), half)
	VMOVD(half, dst)
	VCVTPH2PS(dst, dst)
}

// sum emits code that adds up the sixteen numbers of a pair of registers and writes the sum to out. The code changes
// both registers.
func (avx2) sum(p pair, out Mem) {
	VADDPS(p[1], p[0], p[0])
	sumYMM(p[0], out)
}

// sumYMM emits code that stores the sum of the eight lanes of a register, which it changes: halves first, then pairs.
func sumYMM(r reg.VecVirtual, out Mem) {
	high := XMM()
	VEXTRACTF128(U8(1), r.AsY(), high)
	VADDPS(high, r.AsX(), r.AsX())
	VMOVHLPS(r.AsX(), r.AsX(), high)
	VADDPS(high, r.AsX(), r.AsX())
	VMOVSHDUP(r.AsX(), high)
	VADDSS(high, r.AsX(), r.AsX())
	VMOVSS(r.AsX(), out)
}

type avx512 struct{}

// name returns the suffix of the kernels' names for this instruction set.
func (avx512) name() string { return "AVX512" }

// lanes returns the number of float32 in a register.
func (avx512) lanes() int { return 16 }

// register returns a new 512-bit register.
func (avx512) register() reg.VecVirtual { return ZMM() }

// tail emits loads of the elements from at up to dim under a mask, and adds their products to sums: lanes beyond them
// are zero and not touched in memory. It does not change at.
func (avx512) tail(one row, many []row, sums []pair, at, dim reg.Register, _ string) {
	count, bits := GP64(), GP64()
	MOVQ(dim, count)
	SUBQ(at, count)
	MOVQ(I32(-1), bits)
	BZHIQ(count, bits, bits)
	mask := K()
	KMOVW(bits.As32(), mask)
	load := func(r row) reg.VecVirtual {
		x := ZMM()
		if r.size == 4 {
			VMOVUPS_Z(r.element(at, 0), mask, x)
			return x
		}
		half := YMM()
		VMOVDQU16_Z(r.element(at, 0), mask, half)
		VCVTPH2PS(half, x)
		return x
	}
	q := load(one)
	for i, r := range many {
		VFMADD231PS(load(r), q, sums[i][0])
	}
}

// sum emits code that adds up the lanes of a pair of registers and writes the sum to out. The code changes both
// registers.
func (avx512) sum(p pair, out Mem) {
	VADDPS(p[1], p[0], p[0])
	high := YMM()
	VEXTRACTF64X4(U8(1), p[0], high)
	VADDPS(high, p[0].AsY(), p[0].AsY())
	sumYMM(p[0], out)
}
