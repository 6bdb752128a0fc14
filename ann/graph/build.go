package graph

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"example.org/conclave/ann/kernel"
	"example.org/conclave/internal/disk"
)

// Params are the choices of a build.
type Params struct {
	M              int    // neighbours of a new node on each level, at least 2
	EfConstruction int    // candidates from which they are chosen, at least M
	Seed           uint64 // of the order in which nodes are added
	Threads        int    // goroutines; the graph does not depend on it
	Progress       func(done, total int)
}

// Check returns an error if M or EfConstruction is impossible.
func (p Params) Check() error {
	switch {
	case p.M < minM || p.M > maxM:
		return fmt.Errorf("parameter M is %d; between %d and %d is possible", p.M, minM, maxM)
	case p.EfConstruction < p.M:
		return fmt.Errorf("efConstruction is %d; it must be at least M, %d", p.EfConstruction, p.M)
	}
	return nil
}

// Build returns the graph of vectors that stand in rows one after the other, each of dim numbers of half precision.
// Without vectors the graph is empty. It fails for impossible parameters or too many vectors, and if ctx ends.
// p.Progress is called after each batch.
//
// Nodes are added in batches. The nodes of a batch search the graph as it was before the batch, in parallel, and choose
// their neighbours; then the links back are put in, each node's list by one goroutine (Manohar et al., ParlayANN, PPoPP
// 2024). Every step depends on the graph before it and not on the order in which goroutines run, and scores are sums of
// integers times scales: the same vectors, parameters and seed give the same graph, bit for bit, with any number of
// threads and on any processor.
//
// For vectors of different length the nearest are those with the largest inner product, as in a search, but directions
// are compared by the cosine: see diverse.
func Build(ctx context.Context, rows []kernel.Half, dim int, p Params) (*Graph, error) {
	count := len(rows) / max(dim, 1)
	switch {
	case dim < 1 || dim > MaxDimension:
		return nil, fmt.Errorf("dimension %d; between 1 and %d is possible", dim, MaxDimension)
	case count > MaxRows:
		return nil, fmt.Errorf("%d vectors; at most %d fit one graph", count, MaxRows)
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	b := newBuilder(dim, p)
	b.groupEqual(rows, p.Seed)
	b.allocate()
	if err := b.quantiseRows(ctx, rows); err != nil {
		return nil, err
	}
	n := b.nodeCount()
	for done := min(1, n); done < n; {
		size := min(batchSize(done), n-done)
		if err := b.insertNodes(ctx, done, done+size); err != nil {
			return nil, err
		}
		done += size
		b.params.Progress(count-(n-done), count) // as if all equal vectors were in the nodes that are done
	}
	if n <= 1 {
		b.params.Progress(count, count)
	}
	b.connectAll()
	b.orderNodes()
	return b.Graph, nil
}

// batchSize returns how many nodes are added at once to a graph of n. Nodes of a
// batch do not see each other, so a batch stays a small part of the graph.
func batchSize(n int) int { return max(1, min(n/50, 4096)) }

// none is Graph.none while a graph is built.
const none = ^uint32(0)

type builder struct {
	*Graph
	params  Params
	lists   [][]uint32 // the lists of neighbours, of which Graph.links are the bytes until nodes are renumbered
	workers []*worker
	inverse []float32 // 1 / length of each node's vector, 0 for one of zeros
	back    []uint64  // links to put in: target and source
}

// worker is what one goroutine of a build has for itself.
type worker struct {
	Searcher
	coder     kernel.Coder
	candidate kernel.Query // of a list of neighbours
	list      []entry      // candidates of a list of neighbours
	kept      []uint32     // those chosen so far
	row       []float32    // the vector being encoded
}

// neighbours returns a node's list on a level, in place, until nodes are renumbered: its neighbours first, then none in
// each unused place.
func (b *builder) neighbours(level int, node uint32) []uint32 {
	w := b.listWidth(level)
	return b.lists[level][int(node)*w : (int(node)+1)*w]
}

// newBuilder returns a builder without nodes, with a worker for each thread, one at least. dim is the number of
// elements of a vector.
func newBuilder(dim int, p Params) *builder {
	b := &builder{Graph: &Graph{kernels: kernel.Best(), dim: dim, stride: kernel.Stride(dim), m: p.M}, params: p}
	b.setIDBytes(4)
	for range max(1, p.Threads) {
		b.workers = append(b.workers, &worker{})
	}
	if b.params.Progress == nil {
		b.params.Progress = func(int, int) {}
	}
	return b
}

// groupEqual makes one node of each group of equal vectors, and puts the nodes into a random order that depends on
// seed only. It sets levels, ordinals, groups and grouped. rows must have whole vectors.
func (b *builder) groupEqual(rows []kernel.Half, seed uint64) {
	row := func(ordinal uint32) []byte {
		r := rows[int(ordinal)*b.dim:][:b.dim]
		return unsafe.Slice((*byte)(unsafe.Pointer(&r[0])), 2*b.dim)
	}
	type hashed struct {
		hash    uint64
		ordinal uint32
	}
	all := make([]hashed, len(rows)/b.dim)
	key := maphash.MakeSeed() // the result does not depend on which hashes collide
	for i := range all {
		all[i] = hashed{maphash.Bytes(key, row(uint32(i))), uint32(i)}
	}
	slices.SortFunc(all, func(x, y hashed) int {
		return cmp.Or(
			cmp.Compare(x.hash, y.hash), bytes.Compare(row(x.ordinal), row(y.ordinal)),
			cmp.Compare(x.ordinal, y.ordinal),
		)
	})
	groups := make([][]uint32, 0, len(all))
	for i, h := range all {
		if i > 0 && bytes.Equal(row(all[i-1].ordinal), row(h.ordinal)) {
			last := len(groups) - 1
			groups[last] = append(groups[last], h.ordinal)
			continue
		}
		groups = append(groups, []uint32{h.ordinal})
	}
	slices.SortFunc(groups, func(x, y []uint32) int { return cmp.Compare(x[0], y[0]) })
	rng := rand.New(rand.NewPCG(seed, 0x636f6e636c617665))
	rng.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	b.levels = levelSizes(len(groups), b.m)
	b.ordinals = make([]uint32, len(groups))
	for i, group := range groups {
		if len(group) == 1 {
			b.ordinals[i] = group[0]
			continue
		}
		if b.groups == nil {
			b.groups = append(b.groups, 0)
		}
		b.ordinals[i] = several | uint32(b.groupCount())
		b.grouped = append(b.grouped, group...)
		b.groups = append(b.groups, uint32(len(b.grouped)))
	}
}

// firstRow returns the lowest of the vectors that a node stands for.
func (b *builder) firstRow(node int) int {
	if o := b.ordinals[node]; o&several == 0 {
		return int(o)
	}
	return int(b.grouped[b.groups[b.ordinals[node]&^several]])
}

// allocate makes room for the codes and the lists of neighbours of all nodes. The lists are empty.
func (b *builder) allocate() {
	n := b.nodeCount()
	b.codes = make([]byte, n*b.stride)
	b.scales = make([]float32, n)
	b.inverse = make([]float32, n)
	b.lists, b.links = make([][]uint32, len(b.levels)), make([][]byte, len(b.levels))
	for l, size := range b.levels {
		list := slices.Repeat([]uint32{none}, size*b.listWidth(l))
		b.lists[l] = list
		b.links[l] = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), 4*len(list))
	}
	for _, w := range b.workers {
		w.startQuery(b.Graph)
	}
}

// runParallel calls do for every i below n, in chunks of chunk, from all workers at once, and returns when all have
// ended. It stops at the first error, or when ctx ends, and returns that; a read of a damaged mapped file is an error
// too.
func (b *builder) runParallel(ctx context.Context, n, chunk int, do func(w *worker, i int) error) error {
	if n == 0 {
		return ctx.Err()
	}
	var next atomic.Int64
	var once sync.Once
	var failed error
	var group sync.WaitGroup
	for _, w := range b.workers[:min(len(b.workers), (n+chunk-1)/chunk)] {
		group.Go(func() {
			err := disk.Survive(func() (err error) { // rows may be in a mapped file
				for low := 0; err == nil; {
					low = int(next.Add(int64(chunk))) - chunk
					if low >= n {
						return nil
					}
					err = ctx.Err()
					for i := low; i < min(low+chunk, n) && err == nil; i++ {
						err = do(w, i)
					}
				}
				return err
			})
			if err != nil {
				once.Do(func() { failed = err })
				next.Store(int64(n))
			}
		})
	}
	group.Wait()
	return failed
}

// quantiseRows sets the code, the scale and the inverse length of each node's vector. It fails if ctx ends or rows
// lie in a damaged mapped file.
func (b *builder) quantiseRows(ctx context.Context, rows []kernel.Half) error {
	return b.runParallel(ctx, b.nodeCount(), 1024, func(w *worker, i int) error {
		w.row = kernel.AppendFloats(w.row[:0], rows[b.firstRow(i)*b.dim:][:b.dim])
		b.scales[i] = w.coder.Encode(w.row, b.code(uint32(i)))
		square := float64(0)
		for _, x := range w.row {
			square += float64(x) * float64(x)
		}
		if square > 0 {
			b.inverse[i] = float32(1 / math.Sqrt(square))
		}
		return nil
	})
}
