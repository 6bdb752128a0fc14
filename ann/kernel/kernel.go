// Package kernel multiplies vectors: inner products of floats, of floats with the
// numbers of half precision in which vectors are stored (Half), of the four-bit
// codes that graph traversal reads, and of the lists of token vectors that late
// interaction compares (Question).
//
// Each instruction set that the processor has gives one Set; Best is the
// fastest. All Sets give the same integer results to the last bit, and float
// results that differ only by rounding, since they add in different orders.
// Within one Set the order of additions for a pair of vectors does not depend
// on which other pairs the same call computes, so every function gives the same
// score, to the last bit.
//
// The assembly is written by the program in folder gen, with avo.
package kernel

import "fmt"

//go:generate env GOWORK=off go run -C gen . -out ../kernel_amd64.s -stubs ../stubs_amd64.go -pkg kernel

// Set is the kernels of one instruction set.
type Set struct {
	name string

	dot        func(a, b *float32, dim int, out *float32)
	dotRows    func(query *float32, rows *uint16, dim, n int, out *float32)
	dotGather  func(query *float32, rows *uint16, dim int, ids *uint32, n int, out *float32)
	dotBlock   func(queries *float32, rows *uint16, dim, n int, out *float32)
	codeGather func(query *int8, codes *byte, stride int, ids *uint32, n int, out *int32)
	spread     func(packed *byte, n int, out *byte)
	unpack     func(packed *byte, lines int, out *int8) int
	maxDots    func(codes *int8, n int, blocks *byte, count, dim int, maxima *int32)
}

// Name returns the instructions that the set uses, such as avx512-vnni.
func (s *Set) Name() string { return s.name }

// Best returns the fastest set that this processor can run. It never fails: the last resort is the set in Go.
func Best() *Set { return All()[0] }

// All returns the sets that this processor can run, the fastest first and the one in Go last.
func All() []*Set { return append(native(), &goSet) }

var goSet = Set{
	name: "go", dot: dotGo, dotRows: dotRowsGo, dotGather: dotGatherGo, dotBlock: dotBlockGo,
	codeGather: codeGatherGo, spread: spreadGo, unpack: unpackGo, maxDots: maxDotsGo,
}

// Dot returns the inner product of two vectors. It panics if they are of different lengths.
func (s *Set) Dot(a, b []float32) float32 {
	if len(a) != len(b) {
		panic(fmt.Sprintf("kernel: inner product of %d and %d elements", len(a), len(b)))
	}
	if len(a) == 0 {
		return 0
	}
	var out float32
	s.dot(&a[0], &b[0], len(a), &out)
	return out
}

// DotRows writes to out the inner products of query with len(out) consecutive rows of the same length. It panics if
// rows has fewer; with an empty out it does nothing.
func (s *Set) DotRows(query []float32, rows []Half, out []float32) {
	if len(out) == 0 {
		return
	}
	_ = rows[len(out)*len(query)-1]
	s.dotRows(&query[0], (*uint16)(&rows[0]), len(query), len(out), &out[0])
}

// DotGather writes to out, which needs an element for each id, the inner products of query with the rows whose
// numbers are in ids. Every id must be below len(rows)/len(query); that is not checked.
func (s *Set) DotGather(query []float32, rows []Half, ids []uint32, out []float32) {
	if len(ids) == 0 {
		return
	}
	_ = out[len(ids)-1]
	s.dotGather(&query[0], (*uint16)(&rows[0]), len(query), &ids[0], len(ids), &out[0])
}

// Block is the number of queries that DotBlock multiplies at once.
const Block = 4

// DotBlock writes to out the inner products of Block consecutive queries of dim elements with len(out)/Block
// consecutive rows: for each row, those with all queries. Each row is read once. It panics if queries or rows are too
// short.
func (s *Set) DotBlock(queries []float32, rows []Half, dim int, out []float32) {
	n := len(out) / Block
	if n == 0 {
		return
	}
	_, _ = queries[Block*dim-1], rows[n*dim-1]
	s.dotBlock(&queries[0], (*uint16)(&rows[0]), dim, n, &out[0])
}

// CodeGather writes to out, which needs an element for each id, the sums of the products of a query's codes with the
// codes in the rows whose numbers are in ids. Query.Score makes scores of them. The rows must be of vectors of the
// query's dimension, and every id below their number; that is not checked.
func (s *Set) CodeGather(q *Query, codes []byte, ids []uint32, out []int32) {
	if len(ids) == 0 {
		return
	}
	_ = out[len(ids)-1]
	s.codeGather(&q.codes[0], &codes[0], len(q.codes)/2, &ids[0], len(ids), &out[0])
}
