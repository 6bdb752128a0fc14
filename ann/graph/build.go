package graph

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"conclave/ann/kernel"
)

// Params are the choices of a build.
type Params struct {
	M              int    // neighbours of a new node on each level, at least 2
	EfConstruction int    // candidates from which they are chosen, at least M
	Seed           uint64 // of the order in which nodes are added
	Threads        int    // goroutines; the graph does not depend on it
	Progress       func(done, total int)
}

// Build makes the graph of the rows of vectors, each of dim elements.
//
// Nodes are added in batches. The nodes of a batch search the graph as it was
// before the batch, in parallel, and choose their neighbours; then the links
// back are put in, each node's list by one goroutine (Manohar et al.,
// ParlayANN, PPoPP 2024). Every step depends on the graph before it and not
// on who does what when, and scores are sums of integers times scales: the
// same vectors, parameters and seed give the same graph, bit for bit, with
// any number of threads and on any processor.
//
// For vectors of different length the nearest are those with the largest
// inner product, as when searching, but directions are told apart by the
// cosine: see diverse.
func Build(ctx context.Context, rows []float32, dim int, p Params) (*Graph, error) {
	n := len(rows) / max(dim, 1)
	switch {
	case dim < 1 || dim > MaxDimension:
		return nil, fmt.Errorf("dimension %d; between 1 and %d is possible", dim, MaxDimension)
	case n > MaxCount:
		return nil, fmt.Errorf("%d vectors; at most %d fit one graph", n, MaxCount)
	case p.M < minM || p.M > maxM:
		return nil, fmt.Errorf("M is %d; between %d and %d is possible", p.M, minM, maxM)
	case p.EfConstruction < p.M:
		return nil, fmt.Errorf("efConstruction is %d; it must be at least M, %d", p.EfConstruction, p.M)
	}
	b := newBuilder(rows, dim, n, p)
	if err := b.quantise(ctx, rows); err != nil {
		return nil, err
	}
	for done := 1; done < n; {
		size := min(batchSize(done), n-done)
		if err := b.add(ctx, done, done+size); err != nil {
			return nil, err
		}
		done += size
		if p.Progress != nil {
			p.Progress(done, n)
		}
	}
	b.connect()
	return b.Graph, nil
}

// batchSize is how many nodes are added at once to a graph of n. Nodes of a
// batch do not see each other, so a batch stays a small part of the graph.
func batchSize(n int) int { return max(1, min(n/50, 4096)) }

type builder struct {
	*Graph
	params  Params
	workers []*worker
	inverse []float32 // 1 / length of each node's vector, 0 for one of zeros
	back    []uint64  // links to put in: target and source
}

// worker is what one goroutine of a build has for itself.
type worker struct {
	Searcher
	list []entry  // candidates of a list of neighbours
	kept []uint32 // those chosen so far
}

func newBuilder(rows []float32, dim, n int, p Params) *builder {
	g := &Graph{kernels: kernel.Best(), dim: dim, stride: kernel.Stride(dim), m: p.M, levels: levelSizes(n, p.M)}
	g.codes = make([]byte, n*g.stride)
	g.scales = make([]float32, n)
	g.ordinals = make([]uint32, n)
	g.links = make([][]uint32, len(g.levels))
	for l, size := range g.levels {
		g.links[l] = make([]uint32, size*g.width(l))
		for i := range g.links[l] {
			g.links[l][i] = none
		}
	}
	for i := range g.ordinals {
		g.ordinals[i] = uint32(i)
	}
	rng := rand.New(rand.NewPCG(p.Seed, 0x636f6e636c617665))
	rng.Shuffle(n, func(i, j int) { g.ordinals[i], g.ordinals[j] = g.ordinals[j], g.ordinals[i] })
	b := &builder{Graph: g, params: p}
	for range max(1, p.Threads) {
		w := &worker{}
		w.begin(g)
		b.workers = append(b.workers, w)
	}
	return b
}

// parallel calls do for every i below n, in chunks, from all workers.
func (b *builder) parallel(ctx context.Context, n, chunk int, do func(w *worker, i int) error) error {
	if n == 0 {
		return ctx.Err()
	}
	var next atomic.Int64
	var once sync.Once
	var failed error
	var group sync.WaitGroup
	for _, w := range b.workers[:min(len(b.workers), (n+chunk-1)/chunk)] {
		group.Go(func() {
			for {
				low := int(next.Add(int64(chunk))) - chunk
				if low >= n {
					return
				}
				err := ctx.Err()
				for i := low; i < min(low+chunk, n) && err == nil; i++ {
					err = do(w, i)
				}
				if err != nil {
					once.Do(func() { failed = err })
					next.Store(int64(n))
					return
				}
			}
		})
	}
	group.Wait()
	return failed
}

// quantise fills codes and scales, and measures lengths.
func (b *builder) quantise(ctx context.Context, rows []float32) error {
	b.inverse = make([]float32, b.Count())
	return b.parallel(ctx, b.Count(), 1024, func(_ *worker, i int) error {
		row := rows[int(b.ordinals[i])*b.dim:][:b.dim]
		b.scales[i] = kernel.Quantise(row, b.code(uint32(i)))
		square := float64(0)
		for _, x := range row {
			square += float64(x) * float64(x)
		}
		if square > 0 {
			b.inverse[i] = float32(1 / math.Sqrt(square))
		}
		return nil
	})
}
