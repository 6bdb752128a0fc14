package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// unpack emits unpackAVX2, which makes a signed byte of each code of four bits, and adds the codes up.
func unpack() {
	TEXT("unpackAVX2", NOSPLIT, "func(packed *byte, lines int, out *int8) int")
	Pragma("noescape")
	Doc(
		"unpackAVX2 writes, for each code of a number of lines, twice the code less 15, 128 bytes for each line, and",
		"returns the sum of the codes.",
	)
	packed := Load(Param("packed"), GP64())
	lines := Load(Param("lines"), GP64())
	out := Load(Param("out"), GP64())
	nibble := broadcast(0x0f0f0f0f) // 15 is also the codes' zero level
	zero, sums := YMM(), YMM()
	VPXOR(zero, zero, zero)
	VPXOR(sums, sums, sums)

	Label("lines")
	for half := range 2 {
		low, high, sum := YMM(), YMM(), YMM()
		VMOVDQU(Mem{Base: packed, Disp: 32 * half}, low)
		VPSRLW(U8(4), low, high)
		VPAND(nibble, low, low)
		VPAND(nibble, high, high)
		VPADDB(high, low, sum)
		VPSADBW(zero, sum, sum)
		VPADDQ(sum, sums, sums)
		VPADDB(low, low, low)
		VPSUBB(nibble, low, low)
		VMOVDQU(low, Mem{Base: out, Disp: 32 * half})
		VPADDB(high, high, high)
		VPSUBB(nibble, high, high)
		VMOVDQU(high, Mem{Base: out, Disp: 64 + 32*half})
	}
	ADDQ(U8(64), packed)
	SUBQ(I8(-128), out)
	DECQ(lines)
	JNZ(LabelRef("lines"))

	high := XMM()
	total := GP64()
	VEXTRACTI128(U8(1), sums, high)
	VPADDQ(high, sums.AsX(), sums.AsX())
	VPSHUFD(U8(0x4e), sums.AsX(), high)
	VPADDQ(high, sums.AsX(), sums.AsX())
	VMOVQ(sums.AsX(), total)
	Store(total, ReturnIndex(0))
	VZEROUPPER()
	RET()
}
