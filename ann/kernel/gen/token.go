package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tokenwise is an instruction set's way to multiply one token of a question
// with several tokens of a passage: a lane is a token of the passage, and an
// instruction adds four dimensions to it.
type tokenwise interface {
	name() string
	// halves says into how many registers the sixteen tokens of a block go.
	halves() int
	// widths is how many blocks are met at once, the most first, 1 the last.
	widths() []int
	register() reg.VecVirtual
	prepare()
	add(question, tokens, sum reg.VecVirtual)
	// fold reduces the lanes of a register to its lowest four: lane i becomes the maximum of the lanes i, i+4, i+8, ….
	fold(lanes reg.VecVirtual)
}

// together is how many tokens of a question are multiplied at once, so that each load of
// a passage is used as many times.
const together = 4

// maxDots emits the kernel maxDots for an instruction set: the tokens of a question with those of a passage. A lane
// gathers the product sum of one token with one of the question's, so that the lanes of a register are compared once,
// after the last block.
func maxDots(v tokenwise) {
	name := "maxDots" + v.name()
	TEXT(name, NOSPLIT, "func(codes *int8, n int, blocks *byte, count, dim int, maxima *int32)")
	Pragma("noescape")
	Doc(
		name + " writes, for each of n tokens of a question, the greatest product sum with a token of count blocks. n is a multiple of four.",
	)
	codes := Load(Param("codes"), GP64())
	n := Load(Param("n"), GP64())
	blocks := Load(Param("blocks"), GP64())
	count := Load(Param("count"), GP64())
	dim := Load(Param("dim"), GP64())
	maxima := Load(Param("maxima"), GP64())
	dim3 := GP64()
	size := GP64()
	lowest := GP32()
	LEAQ(Mem{Base: dim, Index: dim, Scale: 2}, dim3)
	MOVQ(dim, size) // of a block
	SHLQ(U8(4), size)
	MOVL(U32(0x80000000), lowest)
	v.prepare()

	Label("questions")
	best := make([]reg.VecVirtual, together)
	for i := range best {
		best[i] = v.register()
		VMOVD(lowest, best[i].AsX())
		VPBROADCASTD(best[i].AsX(), best[i])
	}
	// One set of sums for every width keeps to the first sixteen registers,
	// which VPXOR can clear.
	sums := make([][together]reg.VecVirtual, v.widths()[0])
	for w := range sums {
		for i := range sums[w] {
			sums[w][i] = v.register()
		}
	}
	block, left, end := GP64(), GP64(), GP64()
	MOVQ(blocks, block)
	MOVQ(count, left)
	LEAQ(Mem{Base: codes, Index: dim, Scale: 1}, end)
	question := [together]Mem{{}, {Index: dim, Scale: 1}, {Index: dim, Scale: 2}, {Index: dim3, Scale: 1}}
	for _, width := range v.widths() {
		loop := fmt.Sprintf("blocks%d", width)
		Label(loop)
		CMPQ(left, U8(width))
		JL(LabelRef(loop + "done"))
		for half := range v.halves() {
			tokenSums(v, fmt.Sprintf("%shalf%d", loop, half), tokenPass{
				question: question, codes: codes, end: end, block: block, size: size, offset: 32 * half, sums: sums[:width],
				best: best,
			})
		}
		for range width {
			ADDQ(size, block)
		}
		SUBQ(U8(width), left)
		JMP(LabelRef(loop))
		Label(loop + "done")
	}
	for _, b := range best {
		v.fold(b)
	}
	storeMaxima(best, Mem{Base: maxima})
	ADDQ(U8(4*together), maxima)
	LEAQ(Mem{Base: codes, Index: dim, Scale: 4}, codes)
	SUBQ(U8(together), n)
	JG(LabelRef("questions"))
	VZEROUPPER()
	RET()
}

// tokenPass is what tokenSums multiplies: four tokens of a question, whose
// codes lie from codes to end and as far on again each, and one register of
// tokens of each of as many blocks as it has sums.
type tokenPass struct {
	question                [together]Mem // without their base
	codes, end, block, size reg.Register
	offset                  int
	sums                    [][together]reg.VecVirtual
	best                    []reg.VecVirtual
}

// tokenSums emits code that adds up the products of a pass over all dimensions, and raises p.best to the sums. label
// must be unique in the kernel.
func tokenSums(v tokenwise, label string, p tokenPass) {
	for _, block := range p.sums {
		for _, s := range block {
			VPXOR(s.AsX(), s.AsX(), s.AsX()) // clears the whole register
		}
	}
	at, code := GP64(), GP64()
	MOVQ(p.block, at)
	MOVQ(p.codes, code)
	Label(label)
	tokens := make([]reg.VecVirtual, len(p.sums))
	for w := range tokens {
		tokens[w] = v.register()
		m := Mem{Base: at, Disp: p.offset}
		if w > 0 {
			m.Index = p.size
			m.Scale = uint8(w)
		}
		VMOVUPS(m, tokens[w])
	}
	for i, m := range p.question {
		m.Base = code
		q := v.register()
		VPBROADCASTD(m, q)
		for w := range tokens {
			v.add(q, tokens[w], p.sums[w][i])
		}
	}
	ADDQ(U8(64), at)
	ADDQ(U8(4), code)
	CMPQ(code, p.end)
	JL(LabelRef(label))
	for _, block := range p.sums {
		for i, s := range block {
			VPMAXSD(s, p.best[i], p.best[i])
		}
	}
}

// storeMaxima emits code that stores the greatest of the lowest four lanes of each of four registers.
func storeMaxima(best []reg.VecVirtual, out Mem) {
	var pairs [2]reg.VecVirtual
	for i := range pairs {
		a, b := best[2*i].AsX(), best[2*i+1].AsX()
		low, high := XMM(), XMM()
		VPUNPCKLDQ(b, a, low) // a0 b0 a1 b1
		VPUNPCKHDQ(b, a, high)
		VPMAXSD(high, low, low)
		pairs[i] = low
	}
	low, high := XMM(), XMM()
	VPUNPCKLQDQ(pairs[1], pairs[0], low)
	VPUNPCKHQDQ(pairs[1], pairs[0], high)
	VPMAXSD(high, low, low)
	VMOVDQU(low, out)
}

// tokenVNNI multiplies a whole block in one step. Two blocks at once give enough sums to
// hide the latency of one step.
type tokenVNNI struct{}

// name returns the suffix of the kernels' names for this instruction set.
func (tokenVNNI) name() string { return "VNNI" }

// halves returns 1: a block fits one register.
func (tokenVNNI) halves() int { return 1 }

// widths returns how many blocks are compared at once, the most first.
func (tokenVNNI) widths() []int { return []int{2, 1} }

// register returns a new 512-bit register.
func (tokenVNNI) register() reg.VecVirtual { return ZMM() }

// prepare does nothing: there are no constants.
func (tokenVNNI) prepare() {}

// add emits one instruction that adds the products of four dimensions of the question's token and of each of the
// passage's to the lanes of sum.
func (tokenVNNI) add(question, tokens, sum reg.VecVirtual) { dotAccumulate(question, tokens, sum) }

// fold emits code that reduces the sixteen lanes of a register to its lowest four: lane i, from 0 to 3, becomes the
// maximum of the lanes i, i+4, i+8 and i+12. The other lanes are undefined afterwards.
func (tokenVNNI) fold(lanes reg.VecVirtual) {
	high := YMM()
	VEXTRACTI64X4(U8(1), lanes, high)
	VPMAXSD(high, lanes.AsY(), lanes.AsY())
	foldYMM(lanes)
}

// foldYMM emits code that reduces the lowest eight lanes of a register to its lowest four: lane i, from 0 to 3, becomes
// the maximum of the lanes i and i+4. The other lanes are undefined afterwards.
func foldYMM(lanes reg.VecVirtual) {
	high := XMM()
	VEXTRACTI128(U8(1), lanes.AsY(), high)
	VPMAXSD(high, lanes.AsX(), lanes.AsX())
}

// tokenMaddubs multiplies bytes of a passage of at most 127 with signed ones
// of at most 127, so that no pair exceeds 32,258 and nothing saturates. One
// half of a block at a time leaves room for all its sums in sixteen registers.
type tokenMaddubs struct{ constants *maddubsConstants }

// name returns the suffix of the kernels' names for this instruction set.
func (tokenMaddubs) name() string { return "AVX2" }

// halves returns 2: a block takes two registers.
func (tokenMaddubs) halves() int { return 2 }

// widths returns how many blocks are compared at once, the most first.
func (tokenMaddubs) widths() []int { return []int{1} }

// register returns a new 256-bit register.
func (tokenMaddubs) register() reg.VecVirtual { return YMM() }

// fold emits code that reduces the eight lanes of a register to its lowest four (foldYMM).
func (tokenMaddubs) fold(lanes reg.VecVirtual) { foldYMM(lanes) }

// prepare emits code that loads the constant which adds pairs.
func (v tokenMaddubs) prepare() { v.constants.ones = broadcast(0x00010001) }

// add emits code that adds the products of four dimensions to each lane of sum. It overwrites the question's
// register, since no other block is multiplied with it.
func (v tokenMaddubs) add(question, tokens, sum reg.VecVirtual) {
	VPMADDUBSW(question, tokens, question)
	VPMADDWD(v.constants.ones, question, question)
	VPADDD(question, sum, sum)
}
