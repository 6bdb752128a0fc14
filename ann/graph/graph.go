// Package graph is the project's own hierarchical navigable small world graph
// (Malkov and Yashunin, IEEE TPAMI 2020) over four-bit codes of vectors, by
// inner product: building, searching, its file and its invariants.
package graph

import "example.org/conclave/ann/kernel"

// none marks an unused place in a list of neighbours. Used places come first.
const none = ^uint32(0)

// MaxRows is the largest number of vectors of one graph: a node's number must leave one
// bit free (entry).
const MaxRows = 1<<31 - 1

// The least and greatest M. Levels shrink M-fold, so that even the least gives
// fewer levels than a file has room for.
const (
	minM = 4
	maxM = 512
)

// MaxDimension is the largest dimension.
const MaxDimension = kernel.MaxDimension

// Graph is a hierarchical navigable small world over the four-bit codes of
// vectors. It does not change once built, so any number of goroutines may
// search it.
//
// A node's number is its place in the graph's own order: the nodes of the
// highest level come first, then those of the next, so that "node v is on
// level l" is v < levels[l] and the lists of a level are one flat array
// without an index. Node 0 is where every search enters. Within a level the
// order follows the graph, so that neighbours share pages and cache lines.
type Graph struct {
	kernels *kernel.Set

	dim, stride int
	m           int   // neighbours of a node on the upper levels; twice as many on level 0
	levels      []int // levels[l] nodes are on level l; levels[0] is all

	codes  []byte     // levels[0] × stride
	scales []float32  // levels[0]
	links  [][]uint32 // links[l] is levels[l] × width(l)

	// Equal vectors are one node: as nodes of their own they would link to
	// each other and to nothing else. Node v stands for the rows
	// ordinals[starts[v]:starts[v+1]], the lowest first.
	starts   []uint32 // levels[0] + 1
	ordinals []uint32 // rows
}

// Rows returns the number of vectors.
func (g *Graph) Rows() int { return len(g.ordinals) }

// nodeCount returns the number of nodes; equal vectors share one.
func (g *Graph) nodeCount() int { return g.levels[0] }

// Dimension returns the number of elements of a vector.
func (g *Graph) Dimension() int { return g.dim }

// listWidth returns the number of places in a node's list of neighbours. Level 0 has twice as many as the others.
func (g *Graph) listWidth(level int) int {
	if level == 0 {
		return 2 * g.m
	}
	return g.m
}

// neighbours returns a node's list on a level, in place: its neighbours first, then none in each unused place.
func (g *Graph) neighbours(level int, node uint32) []uint32 {
	w := g.listWidth(level)
	return g.links[level][int(node)*w : (int(node)+1)*w]
}

// rows returns the vectors that a node stands for, ascending and in place. rowsOf is for files that may be damaged.
func (g *Graph) rows(node uint32) []uint32 {
	return g.ordinals[g.starts[node]:g.starts[node+1]]
}

// code returns the code of a node's vector, in place.
func (g *Graph) code(node uint32) []byte {
	return g.codes[int(node)*g.stride : (int(node)+1)*g.stride]
}

// BytesPerVector returns the bytes that searches read, per vector: codes, scales, links, and the rows of nodes. It is 0
// for an empty graph.
func (g *Graph) BytesPerVector() float64 {
	if g.Rows() == 0 {
		return 0
	}
	total := len(g.codes) + 4*(len(g.scales)+len(g.starts)+len(g.ordinals))
	for _, l := range g.links {
		total += 4 * len(l)
	}
	return float64(total) / float64(g.Rows())
}

// levelSizes returns how many nodes are on each level: each level has 1/m of the
// nodes of the one below, as level numbers drawn with Malkov and Yashunin's
// normalisation 1/ln(m) have on average. With the order of nodes shuffled by
// the seed, taking the first n/m of them is such a draw.
func levelSizes(n, m int) []int {
	sizes := []int{n}
	for size := n / m; size >= 2; size /= m {
		sizes = append(sizes, size)
	}
	return sizes
}
