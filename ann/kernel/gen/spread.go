package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// levels are the bytes of the codes 0 to 3, from the lowest on: 64 plus -63, -19, 19 and 63.
const levels = 0x7f532d01

// spread emits spreadAVX2, which makes a byte of each code of two bits. The sixteen bytes of a group are broadcast to
// both halves of a register; each half is moved right by another number of bits, and the lowest two of each byte
// choose its level.
func spread() {
	TEXT("spreadAVX2", NOSPLIT, "func(packed *byte, n int, out *byte)")
	Pragma("noescape")
	Doc("spreadAVX2 writes the levels of n groups of packed codes, 64 bytes for each 16.")
	packed := Load(Param("packed"), GP64())
	n := Load(Param("n"), GP64())
	out := Load(Param("out"), GP64())
	bits := GP32()
	table, mask := YMM(), YMM()
	MOVL(U32(levels), bits)
	VMOVD(bits, table.AsX())
	VPBROADCASTD(table.AsX(), table)
	MOVL(U32(0x03030303), bits)
	VMOVD(bits, mask.AsX())
	VPBROADCASTD(mask.AsX(), mask)

	Label("groups")
	codes := YMM()
	VBROADCASTI128(Mem{Base: packed}, codes)
	for half := range 2 {
		low := YMM()
		high := XMM()
		both := YMM()
		if half == 0 {
			VMOVDQA(codes, low)
		} else {
			VPSRLD(U8(4), codes, low)
		}
		VPSRLD(U8(2), low.AsX(), high)
		VINSERTI128(U8(1), high, low, both)
		VPAND(mask, both, both)
		VPSHUFB(both, table, both)
		VMOVDQU(both, Mem{Base: out, Disp: 32 * half})
	}
	ADDQ(U8(16), packed)
	ADDQ(U8(64), out)
	DECQ(n)
	JNZ(LabelRef("groups"))
	VZEROUPPER()
	RET()
}
