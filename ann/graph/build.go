package graph

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"

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

// Build writes the graph of vectors to a file at path, which appears there only when it is whole and durable, and
// replaces a file of that name. The vectors stand in rows one after the other, each of dim numbers of half precision.
// Without vectors the graph is empty. stamp is that of the file of vectors (Origin). It fails for impossible parameters
// or too many vectors, if ctx ends, or if the disk has no room; then it leaves no file. p.Progress is called after each
// batch.
//
// Nodes are added in batches. The nodes of a batch search the graph as it was before the batch, in parallel, and choose
// their neighbours; then the links back are put in, each node's list by one goroutine (Manohar et al., ParlayANN, PPoPP
// 2024). Every step depends on the graph before it and not on the order in which goroutines run, and scores are sums of
// integers times scales: the same vectors, parameters and seed give the same file, bit for bit, with any number of
// threads and on any processor.
//
// For vectors of different length the nearest are those with the largest inner product, as in a search, but directions
// are compared by the cosine: see diverse.
//
// What grows with the vectors while the graph is built, about 360 bytes for each of 384 numbers, lies in files without
// a name beside path (scratch).
func Build(
	ctx context.Context, d disk.Disk, path string, rows []kernel.Half, dim int, stamp uint64, p Params,
) (err error) {
	count := len(rows) / max(dim, 1)
	switch {
	case dim < 1 || dim > MaxDimension:
		return fmt.Errorf("dimension %d; between 1 and %d is possible", dim, MaxDimension)
	case count > MaxRows:
		return fmt.Errorf("%d vectors; at most %d fit one graph", count, MaxRows)
	}
	if err := p.Check(); err != nil {
		return err
	}
	b := newBuilder(scratch{disk: d, folder: filepath.Dir(path)}, dim, p)
	defer func() { err = errors.Join(err, b.scratch.release()) }()
	err = disk.Survive(func() error { // rows and the builder's arrays are in mapped files
		if err := b.addRows(ctx, rows); err != nil {
			return err
		}
		order, number, err := b.orderNodes()
		if err != nil {
			return err
		}
		return b.write(path, order, number, Origin{EfConstruction: p.EfConstruction, Seed: p.Seed, Stamp: stamp})
	})
	if errors.Is(err, disk.ErrFault) {
		err = fmt.Errorf("building a graph in %s, whose disk may be full: %w", filepath.Dir(path), err)
	}
	return err
}

// addRows makes the nodes of all rows and links them. It fails if ctx ends, a mapped file is damaged, or scratch memory
// cannot be had.
func (b *builder) addRows(ctx context.Context, rows []kernel.Half) error {
	count := len(rows) / b.dim
	if err := b.groupEqual(rows, b.params.Seed); err != nil {
		return err
	}
	if err := b.allocate(); err != nil {
		return err
	}
	if err := b.quantiseRows(ctx, rows); err != nil {
		return err
	}
	n := b.nodeCount()
	for done := min(1, n); done < n; {
		size := min(batchSize(done), n-done)
		if err := b.insertNodes(ctx, done, done+size); err != nil {
			return err
		}
		done += size
		b.params.Progress(count-(n-done), count) // as if all equal vectors were in the nodes that are done
	}
	if n <= 1 {
		b.params.Progress(count, count)
	}
	return b.connectAll()
}

// batchSize returns how many nodes are added at once to a graph of n. Nodes of a
// batch do not see each other, so a batch stays a small part of the graph.
func batchSize(n int) int { return max(1, min(n/50, 4096)) }

// none is Graph.none while a graph is built.
const none = ^uint32(0)

type builder struct {
	*Graph
	scratch scratch
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
// elements of a vector. The caller releases the builder's scratch memory.
func newBuilder(s scratch, dim int, p Params) *builder {
	g := &Graph{kernels: kernel.Best(), dim: dim, stride: kernel.Stride(dim), m: p.M}
	b := &builder{Graph: g, scratch: s, params: p}
	b.setIDBytes(4)
	for range max(1, p.Threads) {
		b.workers = append(b.workers, &worker{})
	}
	if b.params.Progress == nil {
		b.params.Progress = func(int, int) {}
	}
	return b
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
