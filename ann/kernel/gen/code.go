package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// nibblewise is an instruction set's way to add up products of a query's signed bytes with codes of four bits, which
// lie two to a byte.
type nibblewise interface {
	name() string
	width() int // bytes in a register
	prepare()
	// query loads as many query bytes as a register has codes in its low nibbles, or in its high ones.
	query(m Mem) reg.VecVirtual
	register() reg.VecVirtual
	// add adds the products of the two query registers with a register of codes to sum.
	add(low, high reg.VecVirtual, codes Mem, sum reg.VecVirtual)
	// store writes the four sums, or the one.
	store(sums []reg.VecVirtual, out Mem)
}

// codeDots emits the kernel codeGather for an instruction set, which multiplies a query with many rows of codes. A line
// of 64 bytes has the codes of 128 elements: the first 64 in its low nibbles, the others in its high ones.
func codeDots(v nibblewise) {
	name := "codeGather" + v.name()
	TEXT(name, NOSPLIT, "func(query *int8, codes *byte, stride int, ids *uint32, n int, out *int32)")
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

	// The first pass ends when fewer than twelve rows are left. It asks for the rows after the next four, which memory
	// then has time to bring.
	for pass, width := range []int{4, 4, 1} {
		loop, done := fmt.Sprintf("pass%drows%d", pass, width), fmt.Sprintf("pass%drows%ddone", pass, width)
		Label(loop)
		least := width
		if pass == 0 {
			least = 3 * width
		}
		CMPQ(n, U8(least))
		JL(LabelRef(done))
		rows := cursor.rows(width)
		cursor.advance(width)
		var next []reg.GPVirtual
		if pass == 0 {
			ahead := cursor
			for i := range width {
				r := GP64()
				ahead.at(width+i, r)
				next = append(next, r)
			}
		}
		sums := make([]reg.VecVirtual, width)
		for i := range sums {
			sums[i] = v.register()
			VPXOR(sums[i].AsX(), sums[i].AsX(), sums[i].AsX())
		}
		at := GP64()
		XORQ(at, at)
		Label(loop + "line")
		for offset := 0; offset < 64; offset += v.width() {
			low := v.query(Mem{Base: query, Index: at, Scale: 2, Disp: offset})
			high := v.query(Mem{Base: query, Index: at, Scale: 2, Disp: 64 + offset})
			for i, row := range rows {
				v.add(low, high, Mem{Base: row, Index: at, Scale: 1, Disp: offset}, sums[i])
			}
			if offset == 0 {
				for _, r := range next {
					PREFETCHT0(Mem{Base: r, Index: at, Scale: 1})
				}
			}
		}
		ADDQ(U8(64), at)
		CMPQ(at, cursor.stride)
		JL(LabelRef(loop + "line"))
		v.store(sums, Mem{Base: out})
		ADDQ(U8(4*width), out)
		SUBQ(U8(width), n)
		JMP(LabelRef(loop))
		Label(done)
	}
	VZEROUPPER()
	RET()
}

// vnni multiplies unsigned with signed bytes and adds four products in one step.
type vnni struct{ constants *vnniConstants }

type vnniConstants struct{ nibble reg.VecVirtual }

// name returns the suffix of the kernels' names for this instruction set.
func (vnni) name() string { return "VNNI" }

// width returns the number of bytes in a register.
func (vnni) width() int { return 64 }

// register returns a new 512-bit register.
func (vnni) register() reg.VecVirtual { return ZMM() }

// prepare emits code that loads the mask of the low nibbles, and takes the register of v.constants.
func (v vnni) prepare() {
	bits := GP32()
	v.constants.nibble = ZMM()
	MOVL(U32(0x0f0f0f0f), bits)
	VPBROADCASTD(bits, v.constants.nibble)
}

// query emits code that loads a register of query bytes, and returns the register.
func (v vnni) query(m Mem) reg.VecVirtual {
	q := ZMM()
	VMOVDQU32(m, q)
	return q
}

// add emits code that adds the products of the query's two registers with a register of codes to sum.
func (v vnni) add(low, high reg.VecVirtual, codes Mem, sum reg.VecVirtual) {
	c, h := ZMM(), ZMM()
	VMOVDQU32(codes, c)
	VPSRLW(U8(4), c, h)
	VPANDD(v.constants.nibble, c, c)
	VPANDD(v.constants.nibble, h, h)
	dotAccumulate(low, c, sum)
	dotAccumulate(high, h, sum)
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

// store emits code that writes the four sums, or the one, to out.
func (v vnni) store(sums []reg.VecVirtual, out Mem) {
	for _, s := range sums {
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

// maddubs is AVX2's byte product, whose pairs saturate at 16 bits. Of a query byte, at most 127, and a code, at most
// 15, the four products that are added before they are widened are 7,620 at most, so it is exact.
type maddubs struct{ constants *maddubsConstants }

type maddubsConstants struct{ nibble, ones reg.VecVirtual }

// name returns the suffix of the kernels' names for this instruction set.
func (maddubs) name() string { return "AVX2" }

// width returns the number of bytes in a register.
func (maddubs) width() int { return 32 }

// register returns a new 256-bit register.
func (maddubs) register() reg.VecVirtual { return YMM() }

// prepare emits code that loads the mask of the low nibbles and the ones that add pairs, and takes the registers of
// v.constants.
func (v maddubs) prepare() {
	v.constants.nibble = broadcast(0x0f0f0f0f)
	v.constants.ones = broadcast(0x00010001)
}

// broadcast emits code that fills a 256-bit register with a number of 32 bits, and returns the register.
func broadcast(number uint32) reg.VecVirtual {
	bits := GP32()
	all := YMM()
	MOVL(U32(number), bits)
	VMOVD(bits, all.AsX())
	VPBROADCASTD(all.AsX(), all)
	return all
}

// query emits code that loads a register of query bytes, and returns the register.
func (v maddubs) query(m Mem) reg.VecVirtual {
	q := YMM()
	VMOVDQU(m, q)
	return q
}

// add emits code that adds the products of the query's two registers with a register of codes to sum.
func (v maddubs) add(low, high reg.VecVirtual, codes Mem, sum reg.VecVirtual) {
	c, h := YMM(), YMM()
	VMOVDQU(codes, c)
	VPSRLW(U8(4), c, h)
	VPAND(v.constants.nibble, c, c)
	VPAND(v.constants.nibble, h, h)
	VPMADDUBSW(low, c, c)
	VPMADDUBSW(high, h, h)
	VPADDW(h, c, c)
	VPMADDWD(v.constants.ones, c, c)
	VPADDD(c, sum, sum)
}

// store emits code that writes the four sums, or the one, to out.
func (maddubs) store(sums []reg.VecVirtual, out Mem) { storeSums(sums, out) }
