// Package graph is the project's own hierarchical navigable small world graph
// (Malkov and Yashunin, IEEE TPAMI 2020) over four-bit codes of vectors, by
// inner product: building, searching, its file and its invariants.
package graph

import (
	"encoding/binary"

	"example.org/conclave/ann/kernel"
)

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

	codes  []byte    // levels[0] × stride
	scales []float32 // levels[0]

	// links[l] is the lists of level l: levels[l] × listWidth(l) numbers of nodes,
	// of idBytes bytes each. Used places come first in a list; the others hold none.
	links   [][]byte
	idBytes int    // 3, or 4 for more than maxShortIDs nodes; 4 while the graph is built
	none    uint32 // the largest number of idBytes bytes

	// Equal vectors are one node: as nodes of their own they would link to each other
	// and to nothing else. ordinals[v] is the row of node v. For equal vectors it is
	// several and a group k, which stands for the rows grouped[groups[k]:groups[k+1]],
	// the lowest first.
	ordinals []uint32 // levels[0]
	groups   []uint32 // the number of groups + 1; nil without groups
	grouped  []uint32
}

// several marks a group in Graph.ordinals. Rows are below it.
const several = 1 << 31

// maxShortIDs is the largest number of nodes whose numbers take three bytes in lists of neighbours, beside none.
const maxShortIDs = 1<<24 - 1

// Rows returns the number of vectors.
func (g *Graph) Rows() int { return len(g.ordinals) + len(g.grouped) - g.groupCount() }

// groupCount returns the number of nodes that stand for several vectors.
func (g *Graph) groupCount() int { return max(0, len(g.groups)-1) }

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

// setIDBytes sets how many bytes of lists hold the number of a node, 3 or 4, and the value of unused places.
func (g *Graph) setIDBytes(n int) {
	g.idBytes = n
	g.none = 1<<(8*n) - 1
}

// shortestIDs returns how many bytes lists need for the numbers of so many nodes.
func shortestIDs(nodes int) int {
	if nodes > maxShortIDs {
		return 4
	}
	return 3
}

// listBytes returns the size of the lists of a level in bytes. Numbers of three bytes are read as four, so a byte
// follows the last list.
func (g *Graph) listBytes(level int) int {
	return g.levels[level]*g.listWidth(level)*g.idBytes + 4 - g.idBytes
}

// neighbour returns what is in place i of a node's list on a level: a node, or g.none.
func (g *Graph) neighbour(level int, node uint32, i int) uint32 {
	at := (int(node)*g.listWidth(level) + i) * g.idBytes
	return binary.LittleEndian.Uint32(g.links[level][at:]) & g.none
}

// setNeighbour puts a node, or g.none, into place i of a node's list on a level.
func (g *Graph) setNeighbour(level int, node uint32, i int, id uint32) {
	at := (int(node)*g.listWidth(level) + i) * g.idBytes
	for j := range g.idBytes {
		g.links[level][at+j] = byte(id >> (8 * j))
	}
}

// code returns the code of a node's vector, in place.
func (g *Graph) code(node uint32) []byte {
	return g.codes[int(node)*g.stride : (int(node)+1)*g.stride]
}

// BytesPerVector returns how many bytes of memory the graph takes for a vector: its code and scale, its lists of
// neighbours, and the number of its row. It is 0 for an empty graph.
func (g *Graph) BytesPerVector() float64 {
	if g.Rows() == 0 {
		return 0
	}
	total := len(g.codes) + 4*(len(g.scales)+len(g.ordinals)+len(g.groups)+len(g.grouped))
	for _, l := range g.links {
		total += len(l)
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
