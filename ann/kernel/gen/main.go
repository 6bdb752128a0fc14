// Command gen writes the assembly of package kernel with avo:
//
//	go generate ./ann/kernel
//
// It is a module of its own, so that building conclave needs neither avo nor
// what avo depends on.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// main emits all kernels and writes the files that the flags of avo name.
func main() {
	ConstraintExpr("amd64")
	for _, v := range []vector{avx2{}, avx512{}} {
		dot(v)
		dotRows(v, false)
		dotRows(v, true)
		dotBlock(v)
	}
	for _, v := range []nibblewise{maddubs{&maddubsConstants{}}, vnni{&vnniConstants{}}} {
		codeDots(v)
	}
	for _, v := range []tokenwise{tokenMaddubs{&maddubsConstants{}}, tokenVNNI{}} {
		maxDots(v)
	}
	spread()
	unpack()
	prefetch()
	Generate()
}

// rowCursor yields the addresses of the rows that a kernel reads: one after
// the other, or those that a list of row numbers names.
type rowCursor struct {
	base, stride, ids reg.Register // ids is nil for consecutive rows
}

// at emits code that sets dst to the address of the i-th row from the cursor. For consecutive rows it does so for i 0
// only.
func (c rowCursor) at(i int, dst reg.GPVirtual) {
	if c.ids == nil {
		if i == 0 {
			MOVQ(c.base, dst)
		}
		return
	}
	MOVL(Mem{Base: c.ids, Disp: 4 * i}, dst.As32())
	IMULQ(c.stride, dst)
	ADDQ(c.base, dst)
}

// rows emits code that computes the addresses of the next n rows, and returns their registers.
func (c rowCursor) rows(n int) []reg.GPVirtual {
	out := make([]reg.GPVirtual, n)
	for i := range out {
		out[i] = GP64()
		if c.ids == nil && i > 0 {
			MOVQ(out[i-1], out[i])
			ADDQ(c.stride, out[i])
			continue
		}
		c.at(i, out[i])
	}
	return out
}

// advance emits code that moves the cursor n rows on.
func (c rowCursor) advance(n int) {
	if c.ids != nil {
		ADDQ(U32(4*n), c.ids)
		return
	}
	for range n {
		ADDQ(c.stride, c.base)
	}
}

// prefetch emits prefetchLines, which asks for two cache lines before they are needed.
func prefetch() {
	TEXT("prefetchLines", NOSPLIT, "func(list *byte)")
	Pragma("noescape")
	Doc("prefetchLines asks for the two cache lines from list.")
	list := Load(Param("list"), GP64())
	PREFETCHT0(Mem{Base: list})
	PREFETCHT0(Mem{Base: list, Disp: 64})
	RET()
}
