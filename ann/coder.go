package ann

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand"
	"slices"

	library "github.com/coder/hnsw"

	"example.org/conclave/ann/mapped"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

// coder is the graph of github.com/coder/hnsw, kept for comparison and for
// users who have chosen that library. Its weaknesses, in v0.6.1:
//
//   - It finds few of the nearest: recall@100 between 0.14 and 0.40 on 5,000
//     vectors, whatever M and efSearch; a new link drops the worst old one
//     without regard to direction, and a search ends at the first hop that
//     does not improve on its best. Hence the recall that is measured when a
//     collection is built, and the warning.
//   - efSearch has next to no effect.
//   - Its results come unsorted: they are scored by the stored vectors and
//     sorted here.
//   - A search enters the graph at whatever node a map yields first, so the
//     same query can find other vectors the next time.
//   - It panics under additions and deletions: it is only added to here, from
//     one goroutine, and every call is guarded.
//   - Replenishing a list compares by cosine even where another distance was
//     chosen.
//   - Its graph is maps of pointers on the heap with a copy of every vector
//     per level: opening reads all of it, so both time and memory grow with
//     the vectors.
//   - The memory of its reader follows numbers in the file. The file is
//     verified first, against its checksum and number by number.
type coder struct {
	*Vectors
	graph *library.Graph[uint32] // not changed once open
}

const (
	coderKind    = "coder"
	coderVersion = 1
)

// newCoderGraph returns an empty graph of the library with M, EfConstruction and Seed of o. It orders by inner product,
// computed by v's kernels.
func newCoderGraph(v *Vectors, o BuildOptions) *library.Graph[uint32] {
	g := library.NewGraph[uint32]()
	g.M = o.M
	g.EfSearch = o.EfConstruction
	g.Rng = rand.New(rand.NewSource(int64(o.Seed)))
	g.Distance = coderDistance(v)
	return g
}

// coderDistance returns a distance for the library: the negative inner product of two vectors, so that the greatest
// product is the nearest.
func coderDistance(v *Vectors) library.DistanceFunc {
	return func(a, b []float32) float32 { return -v.kernels.Dot(a, b) }
}

// callLibrary calls a function that uses the library and returns its error, or its panic as one. doing completes the
// sentence "panicked while …".
func callLibrary(doing string, call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("github.com/coder/hnsw panicked while %s: %v", doing, p)
		}
	}()
	return call()
}

// coderStep is how many vectors are added between two checks of the context.
const coderStep = 64

// buildCoder builds the graph of v's vectors with the library and writes it to path, with o.Progress called after
// each step. If it fails, ctx ends or the library panics, it leaves no file.
func buildCoder(ctx context.Context, d disk.Disk, v *Vectors, path string, o BuildOptions) error {
	g := newCoderGraph(v, o)
	for low := 0; low < v.count; low += coderStep {
		if err := ctx.Err(); err != nil {
			return err
		}
		high := min(low+coderStep, v.count)
		err := callLibrary("adding vectors", func() error {
			for i := low; i < high; i++ {
				g.Add(library.MakeNode(uint32(i), v.Vector(rank.Ordinal(i))))
			}
			return nil
		})
		if err != nil {
			return err
		}
		o.Progress(high, v.count)
	}
	w, err := mapped.Create(d, path, coderKind, coderVersion)
	if err != nil {
		return err
	}
	defer w.Abort()
	// The library writes the name of a distance that it knows; reading puts
	// the real one back.
	g.Distance = library.EuclideanDistance
	if err := callLibrary("writing", func() error { return g.Export(w) }); err != nil {
		return err
	}
	return w.Commit(uint64(v.count), uint64(v.dim), v.Stamp())
}

// openCoder opens the index at path over v. It fails if the file is damaged or of other vectors.
func openCoder(d disk.Disk, v *Vectors, path string) (Index, error) {
	file, err := mapped.Open(d, path, coderKind, coderVersion)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read; the library has copied all
	if file.Parameter(0) != uint64(v.count) || file.Parameter(1) != uint64(v.dim) || file.Parameter(2) != v.Stamp() {
		return nil, fmt.Errorf("%s was built from other vectors than those in %s: rebuild it", path, v.file.Path())
	}
	if err := file.Check(); err != nil {
		return nil, err
	}
	content, err := file.Bytes(0)
	if err != nil {
		return nil, err
	}
	if err := checkCoder(content, v); err != nil {
		return nil, fmt.Errorf("%s: %w: rebuild it", path, err)
	}
	x := &coder{Vectors: v, graph: library.NewGraph[uint32]()}
	err = callLibrary("reading "+path, func() error { return x.graph.Import(bytes.NewReader(content)) })
	if err != nil {
		return nil, err
	}
	x.graph.Distance = coderDistance(v)
	return x, nil
}

// BytesPerVector returns an estimate of the memory of a vector and its links: the library's graph is in maps.
func (x *coder) BytesPerVector() float64 {
	const entry = 8 + 8 + 8 // key, pointer, and the map's own, per link
	return float64(4*x.dim + x.graph.M*entry + 96)
}

// Search returns up to o.K hits, the best first, with their exact inner products. It compares the query with every
// vector that passes the filter if there is a filter, if o.Exact is set or if the index has at most o.K vectors; else
// it searches the graph, which misses many. It fails if the query or o is invalid (checkQuery), the file is damaged,
// ctx has ended, or the library panics.
func (x *coder) Search(ctx context.Context, query []float32, o SearchOptions) ([]rank.Hit, SearchStats, error) {
	if err := x.checkQuery(query, o); err != nil {
		return nil, SearchStats{}, err
	}
	if err := x.Verify(ctx); err != nil {
		return nil, SearchStats{}, err
	}
	// The library cannot filter; few enough vectors are compared at once.
	if o.Exact || o.Filter != nil || x.count <= o.K {
		return x.scanVectors(ctx, query, o)
	}
	if err := ctx.Err(); err != nil {
		return nil, SearchStats{}, err
	}
	nodes, err := x.nearestNodes(query, o)
	if err != nil {
		return nil, SearchStats{}, err
	}
	top := rank.NewTopK(o.K)
	for _, n := range nodes {
		top.Push(rank.Hit{Ordinal: rank.Ordinal(n.Key), Score: x.kernels.Dot(query, x.Vector(rank.Ordinal(n.Key)))})
	}
	hits, err := x.sortedHits(top.Sorted())
	return hits, SearchStats{Scored: len(nodes)}, err
}

// nearestNodes returns the nearest nodes to a query that the library finds with a width of o.Ef (or its default), at
// least o.K, in the order of their keys. It ignores o's filter. It returns a panic of the library as an error.
func (x *coder) nearestNodes(query []float32, o SearchOptions) (nodes []library.Node[uint32], err error) {
	ef := o.Ef
	if ef <= 0 {
		ef = defaultEf(o.K)
	}
	ef = max(ef, o.K)
	err = callLibrary("searching", func() error {
		// A shallow copy, so that searches with different ef do not meet.
		g := *x.graph
		g.EfSearch = ef
		nodes = g.Search(query, ef)
		return nil
	})
	if err != nil {
		return nil, err
	}
	// A node must not count twice; the library has been seen to keep its word.
	slices.SortFunc(nodes, func(a, b library.Node[uint32]) int { return cmp.Compare(a.Key, b.Key) })
	return slices.CompactFunc(nodes, func(a, b library.Node[uint32]) bool { return a.Key == b.Key }), nil
}
