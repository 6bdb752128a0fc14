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
	load(m Op, dst reg.VecVirtual)
	// tail adds the products of the last count (< lanes) elements of each row.
	tail(query reg.Register, rows []reg.GPVirtual, sums []pair, count reg.Register, label string)
	sum(p pair, out Mem)
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

// dotRows emits the kernel dotRows, which multiplies one query with consecutive rows, or if gather is set dotGather,
// with rows named by numbers, for an instruction set.
func dotRows(v vector, gather bool) {
	name := "dotRows" + v.name()
	signature := "func(query, rows *float32, dim, n int, out *float32)"
	doc := "the product sums of a query with n consecutive rows."
	if gather {
		name = "dotGather" + v.name()
		signature = "func(query, rows *float32, dim int, ids *uint32, n int, out *float32)"
		doc = "the product sums of a query with the n rows named by ids."
	}
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(name + " writes " + doc)
	query := Load(Param("query"), GP64())
	cursor := rowCursor{base: Load(Param("rows"), GP64()), stride: GP64()}
	Load(Param("dim"), cursor.stride)
	if gather {
		cursor.ids = Load(Param("ids"), GP64())
	}
	n := Load(Param("n"), GP64())
	out := Load(Param("out"), GP64())
	SHLQ(U8(2), cursor.stride)

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
		products(v, query, rows, cursor.stride, sums, loop)
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

// products emits code that adds the products of one query with each of some rows, of size bytes, to sums. The registers
// of rows are changed. label must be unique in the kernel.
func products(v vector, query reg.Register, rows []reg.GPVirtual, size reg.Register, sums []pair, label string) {
	bytes := 4 * v.lanes()
	at, end := GP64(), GP64()
	XORQ(at, at)
	step := func(accumulator, offset int) {
		q := v.register()
		v.load(Mem{Base: query, Index: at, Scale: 1, Disp: offset}, q)
		for i, row := range rows {
			VFMADD231PS(Mem{Base: row, Index: at, Scale: 1, Disp: offset}, q, sums[i][accumulator])
		}
	}
	fits := func(n int, otherwise string) {
		LEAQ(Mem{Base: at, Disp: n * bytes}, end)
		CMPQ(end, size)
		JG(LabelRef(otherwise))
	}
	Label(label + "two")
	fits(2, label+"one")
	step(0, 0)
	step(1, bytes)
	MOVQ(end, at)
	JMP(LabelRef(label + "two"))
	Label(label + "one")
	fits(1, label+"tail")
	step(0, 0)
	MOVQ(end, at)
	Label(label + "tail")
	left := end
	MOVQ(size, left)
	SUBQ(at, left)
	JZ(LabelRef(label + "end"))
	SHRQ(U8(2), left)
	for _, row := range rows {
		ADDQ(at, row)
	}
	ADDQ(query, at)
	v.tail(at, rows, sums, left, label)
	Label(label + "end")
}

// dotBlock emits the kernel dotBlock for an instruction set: four queries with many rows. Each row comes from memory
// once, for an exact search with several questions at a time.
func dotBlock(v vector) {
	name := "dotBlock" + v.name()
	TEXT(name, NOSPLIT, "func(queries, rows *float32, dim, n int, out *float32)")
	Pragma("noescape")
	Doc(name + " writes, row by row, the product sums of four consecutive queries with n consecutive rows.")
	queries := Load(Param("queries"), GP64())
	cursor := rowCursor{base: Load(Param("rows"), GP64()), stride: GP64()}
	Load(Param("dim"), cursor.stride)
	n := Load(Param("n"), GP64())
	out := Load(Param("out"), GP64())
	SHLQ(U8(2), cursor.stride)
	asked := rowCursor{base: queries, stride: cursor.stride}.rows(4)

	Label("rows")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	sums := pairs(v, 4)
	zero(sums)
	ends := make([]reg.GPVirtual, len(asked))
	for i := range asked {
		ends[i] = GP64()
		MOVQ(asked[i], ends[i])
	}
	// The row plays the query of products: it is loaded once for all four.
	row := GP64()
	MOVQ(cursor.base, row)
	products(v, row, ends, cursor.stride, sums, "rows")
	for i, p := range sums {
		v.sum(p, Mem{Base: out, Disp: 4 * i})
	}
	cursor.advance(1)
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

// load emits an unaligned load of m into dst.
func (avx2) load(m Op, dst reg.VecVirtual) { VMOVUPS(m, dst) }

// tail emits a loop that adds the last count products of the query with each row one by one to sums, in the lowest
// lane of a register of its own. count is below lanes.
func (avx2) tail(query reg.Register, rows []reg.GPVirtual, sums []pair, count reg.Register, label string) {
	// A scalar product in lane 0 would clear the lanes above it, so it is
	// done in a register of its own and added once.
	singles := make([]reg.VecVirtual, len(rows))
	for i := range singles {
		singles[i] = XMM()
		VXORPS(singles[i], singles[i], singles[i])
	}
	i := GP64()
	XORQ(i, i)
	Label(label + "single")
	q := XMM()
	VMOVSS(Mem{Base: query, Index: i, Scale: 4}, q)
	for j, row := range rows {
		VFMADD231SS(Mem{Base: row, Index: i, Scale: 4}, q, singles[j])
	}
	INCQ(i)
	CMPQ(i, count)
	JL(LabelRef(label + "single"))
	for j := range rows {
		VADDPS(singles[j].AsY(), sums[j][0], sums[j][0])
	}
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

// load emits an unaligned load of m into dst.
func (avx512) load(m Op, dst reg.VecVirtual) { VMOVUPS(m, dst) }

// tail emits loads of the last count elements under a mask, and adds their products to sums: lanes beyond them are
// zero and not touched in memory. count is below lanes.
func (avx512) tail(query reg.Register, rows []reg.GPVirtual, sums []pair, count reg.Register, _ string) {
	bits := GP64()
	MOVQ(I32(-1), bits)
	BZHIQ(count, bits, bits)
	mask := K()
	KMOVW(bits.As32(), mask)
	q := ZMM()
	VMOVUPS_Z(Mem{Base: query}, mask, q)
	for i, row := range rows {
		r := ZMM()
		VMOVUPS_Z(Mem{Base: row}, mask, r)
		VFMADD231PS(r, q, sums[i][0])
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
