package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// bytewise is an instruction set's way to add up products of code bytes: a
// code is a signed value of at most 127, plus 128.
type bytewise interface {
	name() string
	width() int // bytes in a register
	prepare()
	// begin clears what belongs to a group of rows.
	begin()
	// query loads a register of query bytes in the form that add wants.
	query(m Mem) []reg.VecVirtual
	register() reg.VecVirtual
	add(query []reg.VecVirtual, codes Mem, sum reg.VecVirtual)
	// store writes the four sums, or the one.
	store(sums []reg.VecVirtual, out Mem)
}

// codeDots emits the kernel codeGather for an instruction set, which multiplies one row of codes, the query, with many.
func codeDots(v bytewise) {
	name := "codeGather" + v.name()
	TEXT(name, NOSPLIT, "func(query, codes *byte, stride int, ids *uint32, n int, out *int32)")
	Pragma("noescape")
	Doc(name + " writes the product sums of a query with the n rows of codes named by ids.")
	query := Load(Param("query"), GP64())
	cursor := rowCursor{
		base:   Load(Param("codes"), GP64()),
		stride: Load(Param("stride"), GP64()),
		ids:    Load(Param("ids"), GP64()),
	}
	n := Load(Param("n"), GP64())
	out := Load(Param("out"), GP64())
	v.prepare()

	for _, width := range []int{4, 1} {
		loop, done := fmt.Sprintf("rows%d", width), fmt.Sprintf("rows%ddone", width)
		Label(loop)
		CMPQ(n, U8(width))
		JL(LabelRef(done))
		rows := cursor.rows(width)
		cursor.advance(width)
		sums := make([]reg.VecVirtual, width)
		for i := range sums {
			sums[i] = v.register()
			VPXOR(sums[i].AsX(), sums[i].AsX(), sums[i].AsX())
		}
		v.begin()
		at := GP64()
		XORQ(at, at)
		Label(loop + "chunk")
		for offset := 0; offset < 64; offset += v.width() {
			q := v.query(Mem{Base: query, Index: at, Scale: 1, Disp: offset})
			for i, row := range rows {
				v.add(q, Mem{Base: row, Index: at, Scale: 1, Disp: offset}, sums[i])
			}
		}
		ADDQ(U8(64), at)
		CMPQ(at, cursor.stride)
		JL(LabelRef(loop + "chunk"))
		v.store(sums, Mem{Base: out})
		ADDQ(U8(4*width), out)
		SUBQ(U8(width), n)
		JMP(LabelRef(loop))
		Label(done)
	}
	VZEROUPPER()
	RET()
}

// vnni multiplies unsigned with signed bytes and adds four products in one
// step. The codes stay unsigned, so that a product sum is too large by 128
// times the sum of the query's signed bytes. That excess is added up too, and
// subtracted at the end.
type vnni struct{ constants *vnniConstants }

type vnniConstants struct{ offset, excess reg.VecVirtual }

// name returns the suffix of the kernels' names for this instruction set.
func (vnni) name() string { return "VNNI" }

// width returns the number of bytes in a register.
func (vnni) width() int { return 64 }

// register returns a new 512-bit register.
func (vnni) register() reg.VecVirtual { return ZMM() }

// prepare emits code that loads the constant which makes unsigned codes signed, and takes the registers of v.constants.
func (v vnni) prepare() {
	bits := GP32()
	v.constants.offset, v.constants.excess = ZMM(), ZMM()
	MOVL(U32(0x80808080), bits)
	VPBROADCASTD(bits, v.constants.offset)
}

// begin emits code that clears v.constants.excess, the sum of the query's bytes.
func (v vnni) begin() {
	e := v.constants.excess
	VPXOR(e.AsX(), e.AsX(), e.AsX())
}

// query emits code that loads a register of query bytes as signed ones, and adds 128 times their sum to
// v.constants.excess. It returns that register.
func (v vnni) query(m Mem) []reg.VecVirtual {
	q := ZMM()
	VPXORD(m, v.constants.offset, q)
	dotAccumulate(q, v.constants.offset, v.constants.excess)
	return []reg.VecVirtual{q}
}

// add emits code that adds the products of the query with a register of codes to sum.
func (v vnni) add(query []reg.VecVirtual, codes Mem, sum reg.VecVirtual) {
	c := ZMM()
	VMOVDQU32(codes, c)
	dotAccumulate(query[0], c, sum)
}

// dotAccumulate emits the instruction VPDPBUSD, which avo's tables do not have. For each lane of 32 bits it multiplies
// the four signed bytes by the four unsigned ones and adds the products to the lane of sum.
func dotAccumulate(signed, unsigned, sum reg.VecVirtual) {
	Instruction(&ir.Instruction{
		Opcode:   "VPDPBUSD",
		Operands: []Op{signed, unsigned, sum},
		Inputs:   []Op{signed, unsigned, sum},
		Outputs:  []Op{sum},
		ISA:      []string{"AVX512F", "AVX512VNNI"},
	})
}

// store emits code that subtracts the excess from the four sums, or the one, and writes them to out.
func (v vnni) store(sums []reg.VecVirtual, out Mem) {
	for _, s := range sums {
		VPSUBD(v.constants.excess, s, s)
		high := YMM()
		VEXTRACTI64X4(U8(1), s, high)
		VPADDD(high, s.AsY(), s.AsY())
	}
	storeSums(sums, out)
}

// storeSums emits code that adds the lanes of one or four 256-bit sums and stores the results at out.
func storeSums(sums []reg.VecVirtual, out Mem) {
	high := XMM()
	if len(sums) == 4 {
		a, b := sums[0].AsY(), sums[2].AsY()
		VPHADDD(sums[1].AsY(), a, a)
		VPHADDD(sums[3].AsY(), b, b)
		VPHADDD(b, a, a)
		VEXTRACTI128(U8(1), a, high)
		VPADDD(high, sums[0].AsX(), sums[0].AsX())
		VMOVDQU(sums[0].AsX(), out)
		return
	}
	x := sums[0].AsX()
	VEXTRACTI128(U8(1), sums[0].AsY(), high)
	VPADDD(high, x, x)
	VPHADDD(x, x, x)
	VPHADDD(x, x, x)
	VMOVD(x, out)
}

// maddubs is AVX2's byte product, whose pairs saturate at 16 bits. With the
// magnitude of one factor on the unsigned side and its sign moved to the
// other, both at most 127, no pair exceeds 32,258, so it is exact.
type maddubs struct{ constants *maddubsConstants }

type maddubsConstants struct{ offset, ones reg.VecVirtual }

// name returns the suffix of the kernels' names for this instruction set.
func (maddubs) name() string { return "AVX2" }

// width returns the number of bytes in a register.
func (maddubs) width() int { return 32 }

// register returns a new 256-bit register.
func (maddubs) register() reg.VecVirtual { return YMM() }

// prepare emits code that loads the constants which make codes signed and which add pairs.
func (v maddubs) prepare() {
	bits := GP32()
	offset128, ones16 := YMM(), YMM()
	v.constants.offset, v.constants.ones = offset128, ones16
	MOVL(U32(0x80808080), bits)
	VMOVD(bits, offset128.AsX())
	VPBROADCASTD(offset128.AsX(), offset128)
	MOVL(U32(0x00010001), bits)
	VMOVD(bits, ones16.AsX())
	VPBROADCASTD(ones16.AsX(), ones16)
}

// begin does nothing: there is no excess.
func (maddubs) begin() {}

// query emits code that loads a register of query bytes as signed ones, and another with their magnitudes. It returns
// both registers.
func (v maddubs) query(m Mem) []reg.VecVirtual {
	q, magnitude := YMM(), YMM()
	VPXOR(m, v.constants.offset, q)
	VPABSB(q, magnitude)
	return []reg.VecVirtual{q, magnitude}
}

// add emits code that adds the products of the query, its two registers, with a register of codes to sum.
func (v maddubs) add(query []reg.VecVirtual, codes Mem, sum reg.VecVirtual) {
	c := YMM()
	VPXOR(codes, v.constants.offset, c)
	VPSIGNB(query[0], c, c)
	VPMADDUBSW(c, query[1], c)
	VPMADDWD(v.constants.ones, c, c)
	VPADDD(c, sum, sum)
}

// store emits code that writes the four sums, or the one, to out.
func (maddubs) store(sums []reg.VecVirtual, out Mem) { storeSums(sums, out) }
