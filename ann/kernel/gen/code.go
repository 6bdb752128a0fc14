package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// bytewise is an instruction set's way to add up products of a signed query
// byte with a code byte, which is the signed value plus 128.
type bytewise interface {
	name() string
	width() int // bytes in a register
	prepare()
	// query loads a register of query bytes in the form that add wants.
	query(m Mem) []reg.VecVirtual
	register() reg.VecVirtual
	add(query []reg.VecVirtual, codes Mem, sum reg.VecVirtual)
	// store writes the four (or one) sums, with the bias that undoes the 128.
	store(sums []reg.VecVirtual, bias reg.Register, out Mem)
}

// codeDots is one quantised query against many rows of codes. While four rows
// are added up, the lines of the next four are fetched.
func codeDots(v bytewise, gather bool) {
	name, signature := "codeRows"+v.name(), "func(query *int8, bias int32, codes *byte, stride, n int, out *int32)"
	doc := "n consecutive rows of codes."
	if gather {
		name, signature = "codeGather"+v.name(), "func(query *int8, bias int32, codes *byte, stride int, ids *uint32, n int, out *int32)"
		doc = "the n rows of codes named by ids."
	}
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(name + " writes the product sums of a query with " + doc)
	query := Load(Param("query"), GP64())
	bias := Load(Param("bias"), GP32())
	cursor := rowCursor{base: Load(Param("codes"), GP64()), stride: Load(Param("stride"), GP64())}
	if gather {
		cursor.ids = Load(Param("ids"), GP64())
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
		v.store(sums, bias, Mem{Base: out})
		ADDQ(U8(4*width), out)
		SUBQ(U8(width), n)
		JMP(LabelRef(loop))
		Label(done)
	}
	VZEROUPPER()
	RET()
}

// vnni multiplies the unsigned code with the signed query in one step.
type vnni struct{}

func (vnni) name() string             { return "VNNI" }
func (vnni) width() int               { return 64 }
func (vnni) register() reg.VecVirtual { return ZMM() }
func (vnni) prepare()                 {}
func (vnni) query(m Mem) []reg.VecVirtual {
	q := ZMM()
	VMOVDQU32(m, q)
	return []reg.VecVirtual{q}
}

// add is VPDPBUSD with the code as the unsigned operand; avo's tables do not
// have the instruction, so the operands' roles are given here.
func (vnni) add(query []reg.VecVirtual, codes Mem, sum reg.VecVirtual) {
	c := ZMM()
	VMOVDQU32(codes, c)
	Instruction(&ir.Instruction{
		Opcode:   "VPDPBUSD",
		Operands: []Op{query[0], c, sum},
		Inputs:   []Op{query[0], c, sum},
		Outputs:  []Op{sum},
		ISA:      []string{"AVX512F", "AVX512VNNI"},
	})
}

func (vnni) store(sums []reg.VecVirtual, bias reg.Register, out Mem) {
	for _, s := range sums {
		high := YMM()
		VEXTRACTI64X4(U8(1), s, high)
		VPADDD(high, s.AsY(), s.AsY())
	}
	b := XMM()
	VMOVD(bias, b)
	storeSums(sums, b, out)
}

// storeSums adds up the lanes of one or four 256-bit sums; bias may be nil.
func storeSums(sums []reg.VecVirtual, bias reg.VecVirtual, out Mem) {
	high := XMM()
	if len(sums) == 4 {
		a, b := sums[0].AsY(), sums[2].AsY()
		VPHADDD(sums[1].AsY(), a, a)
		VPHADDD(sums[3].AsY(), b, b)
		VPHADDD(b, a, a)
		VEXTRACTI128(U8(1), a, high)
		VPADDD(high, sums[0].AsX(), sums[0].AsX())
		if bias != nil {
			VPBROADCASTD(bias, bias)
			VPADDD(bias, sums[0].AsX(), sums[0].AsX())
		}
		VMOVDQU(sums[0].AsX(), out)
		return
	}
	x := sums[0].AsX()
	VEXTRACTI128(U8(1), sums[0].AsY(), high)
	VPADDD(high, x, x)
	VPHADDD(x, x, x)
	VPHADDD(x, x, x)
	if bias != nil {
		VPADDD(bias, x, x)
	}
	VMOVD(x, out)
}

// maddubs is AVX2's byte product, whose pairs saturate at 16 bits. With the
// magnitude of one factor on the unsigned side and its sign moved to the
// other, both at most 127, no pair exceeds 32,258, so it is exact.
type maddubs struct{}

func (maddubs) name() string             { return "AVX2" }
func (maddubs) width() int               { return 32 }
func (maddubs) register() reg.VecVirtual { return YMM() }

var offset128, ones16 reg.VecVirtual // constants of the function being written

func (maddubs) prepare() {
	bits := GP32()
	offset128, ones16 = YMM(), YMM()
	MOVL(U32(0x80808080), bits)
	VMOVD(bits, offset128.AsX())
	VPBROADCASTD(offset128.AsX(), offset128)
	MOVL(U32(0x00010001), bits)
	VMOVD(bits, ones16.AsX())
	VPBROADCASTD(ones16.AsX(), ones16)
}

func (maddubs) query(m Mem) []reg.VecVirtual {
	q, magnitude := YMM(), YMM()
	VMOVDQU(m, q)
	VPABSB(q, magnitude)
	return []reg.VecVirtual{q, magnitude}
}

func (maddubs) add(query []reg.VecVirtual, codes Mem, sum reg.VecVirtual) {
	c := YMM()
	VPXOR(codes, offset128, c)
	VPSIGNB(query[0], c, c)
	VPMADDUBSW(c, query[1], c)
	VPMADDWD(ones16, c, c)
	VPADDD(c, sum, sum)
}

func (maddubs) store(sums []reg.VecVirtual, _ reg.Register, out Mem) {
	storeSums(sums, nil, out)
}
