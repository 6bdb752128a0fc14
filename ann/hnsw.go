package ann

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"example.org/conclave/ann/graph"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

// hnsw is the graph of package graph over four-bit codes, which finds
// candidates, and the vectors themselves, which score them.
type hnsw struct {
	*Vectors
	graph   *graph.File
	scratch sync.Pool // of *hnswScratch
}

type hnswScratch struct {
	graph.Searcher
	candidates []uint32 // rows
	scores     []float32
	order      []uint64 // the keys of hits
}

// buildHNSW writes the graph of v's vectors to path. It fails if ctx ends, and then leaves no file.
func buildHNSW(ctx context.Context, d disk.Disk, v *Vectors, path string, o BuildOptions) error {
	g, err := graph.Build(
		ctx, v.rows, v.dim,
		graph.Params{M: o.M, EfConstruction: o.EfConstruction, Seed: o.Seed, Threads: o.Threads, Progress: o.Progress},
	)
	if err != nil {
		return err
	}
	return g.Write(d, path, graph.Origin{EfConstruction: o.EfConstruction, Seed: o.Seed, Stamp: v.Stamp()})
}

// openHNSW opens the graph at path over v. It fails if the file is damaged or of other vectors.
func openHNSW(d disk.Disk, v *Vectors, path string) (Index, error) {
	g, err := graph.Open(d, path)
	if err != nil {
		return nil, err
	}
	if g.Rows() != v.count || g.Dimension() != v.dim || g.Origin.Stamp != v.Stamp() {
		return nil, errors.Join(
			fmt.Errorf(
				"%s (%d vectors of dimension %d) was built from other vectors than those in %s (%d of %d): rebuild it",
				path, g.Rows(), g.Dimension(), v.file.Path(), v.count, v.dim,
			),
			g.Close(),
		)
	}
	x := &hnsw{Vectors: v, graph: g}
	x.scratch.New = func() any { return new(hnswScratch) }
	return x, nil
}

// BytesPerVector returns the graph's memory for a vector, without the vectors.
func (x *hnsw) BytesPerVector() float64 { return x.graph.BytesPerVector() }

// scanIsFaster reports whether comparing all of the allowed vectors is estimated to be faster than searching the
// graph of n vectors with ef candidates.
//
// Without a filter the graph compares some number of vectors per candidate kept (see graph.ComparedPerKept), and with
// one more, since it also has to pass what it may not find: (n/allowed)^0.75 times as many, as counted for filters
// that have nothing to do with the query. Comparing by code through the graph takes about as long as comparing floats
// that lie anywhere.
//
// On 43,378 real vectors of 384 numbers, for the 100 best with ef 300, in queries per second of one thread: first of
// the graph, then of comparing all that is allowed, and the recall@10 of the graph's answers (0.998 at 12,800 a
// second without a filter). Where most of the searches gave up, they compared all in the end.
//
//	allowed  any vectors            the nearest            the furthest           near another vector
//	0.999    12,200    310  0.998   12,400    360  0.998    2,800    240  0.996   12,500    310  0.998
//	0.99     12,200    250  0.998   12,400    370  0.998      740    240  0.996   10,900    300  0.998
//	0.9       6,700    310  0.998    7,700    400  0.998      280    360  gave up  6,700    350  0.999
//	0.5       3,600    630  0.998    7,800    690  0.998      580    660  gave up  3,800    690  0.999
//	0.3       2,300    940  1.000    7,700  1,100  0.998      950  1,070  gave up  1,600  1,110  0.999
//	0.2         880  1,470  gave up  6,700  1,590  0.998    1,310  1,570  gave up  1,050  1,670  gave up
//	0.1       1,270  2,660  gave up  6,600  3,000  0.998    2,640  2,910  gave up  3,170  3,550  gave up
//	0.01     45,000 45,700  gave up 46,600 46,900  gave up 43,300 42,600  gave up 43,300 44,100  gave up
//
// By the rule they cross at 0.22, so that from 0.2 down to the least share measured, 0.0005, the search is exact.
// (conclave-lab bench ann --filters prints the whole table.)
func scanIsFaster(allowed, n, ef int) bool {
	if allowed == 0 {
		return true
	}
	passing := math.Pow(float64(n)/float64(allowed), 0.75)
	return float64(allowed) <= graph.ComparedPerKept*float64(ef)*passing
}

// Search returns up to o.K hits, the best first, with their exact inner products. It compares all vectors that may be
// found if o.Exact is set, or if that is faster than walking the graph (scanIsFaster) and o.Walk is not set; otherwise
// it walks the graph. It fails if the query or o is invalid (checkQuery), a file is damaged or ctx ends.
func (x *hnsw) Search(ctx context.Context, query []float32, o SearchOptions) ([]rank.Hit, SearchStats, error) {
	if err := x.checkQuery(query, o); err != nil {
		return nil, SearchStats{}, err
	}
	if err := x.Verify(ctx); err != nil {
		return nil, SearchStats{}, err
	}
	ef := o.Ef
	if ef <= 0 {
		ef = defaultEf(o.K)
	}
	ef = max(ef, o.K)
	allowed := x.count
	if o.Filter != nil {
		allowed = o.Filter.Len()
	}
	if o.Exact || !o.Walk && scanIsFaster(allowed, x.count, ef) {
		return x.scanVectors(ctx, query, o)
	}
	s := x.scratch.Get().(*hnswScratch)
	hits, stats, err := x.search(ctx, s, query, ef, allowed, o)
	x.scratch.Put(s) // not after a panic, which leaves marks behind
	return hits, stats, err
}

// search returns the o.K best vectors that the graph finds with ef candidates, or compares all vectors that the
// filter lets through if the graph finds too few of them. allowed is how many the filter lets through. It fails if
// ctx ends, or a file is damaged.
func (x *hnsw) search(
	ctx context.Context,
	s *hnswScratch,
	query []float32,
	ef, allowed int,
	o SearchOptions,
) ([]rank.Hit, SearchStats, error) {
	rescored, stats, err := x.findCandidates(ctx, s, query, ef, allowed, o)
	if errors.Is(err, graph.ErrTooNarrow) {
		hits, exact, err := x.scanVectors(ctx, query, o)
		exact.Scored += stats.Scored
		return hits, exact, err
	}
	if err != nil {
		return nil, stats, err
	}
	hits, err := x.rescoreFirst(s, query, o.K, rescored)
	return hits, stats, err
}

// tombstoneShare is used twice. If a filter leaves out less than one vector in
// tombstoneShare, as after a few deletions, the graph is first searched without the
// filter. If then no more than one candidate in tombstoneShare has to be dropped, the
// others are as good as those of a filtered search, which takes a third longer.
const tombstoneShare = 32

// findCandidates sets s.candidates to the rows that the graph finds and the filter lets through, and returns how many
// of the first have to be rescored by their vectors. ef is how many candidates the graph keeps, allowed how many
// vectors the filter lets through. It returns graph.ErrTooNarrow if comparing all is better. It also fails for a
// damaged graph, and if ctx ends.
func (x *hnsw) findCandidates(
	ctx context.Context,
	s *hnswScratch,
	query []float32,
	ef, allowed int,
	o SearchOptions,
) (rescored int, stats SearchStats, err error) {
	if allowed >= x.count-x.count/tombstoneShare {
		s.candidates, err = x.graph.Search(ctx, &s.Searcher, query, ef, nil, 0, s.candidates)
		stats.Scored = s.Scored()
		found := len(s.candidates)
		if o.Filter != nil {
			s.candidates = slices.DeleteFunc(
				s.candidates, func(row uint32) bool { return !o.Filter.Contains(rank.Ordinal(row)) },
			)
		}
		left := len(s.candidates)
		if err != nil || o.Filter == nil || found-left <= ef/tombstoneShare && left >= o.K {
			return min(left, o.K+rescoreMore(o.K)), stats, err
		}
	}
	if allowed == 0 {
		return 0, stats, graph.ErrTooNarrow
	}
	s.candidates, err = x.graph.Search(ctx, &s.Searcher, query, ef, o.Filter.words, allowed, s.candidates)
	stats.Scored += s.Scored()
	return len(s.candidates), stats, err
}

// rescoreMore returns how many candidates beyond k are scored by their vectors:
// codes misjudge an inner product by a little, so that the k best by code are
// not quite the k best. Of 43,378 real vectors, with k 100 and ef 300, recall@100 is
// 0.983 with 25 more, and 0.986 with 50 more as with 100.
// Behind a filter, all candidates are: what it leaves may be far from the query,
// where scores lie closer together than the codes' error. Of the half of the
// vectors that is furthest from the question, recall@10 is 0.80 without that.
func rescoreMore(k int) int { return 25 + k/4 }

// rescoreFirst returns the k best of the first n candidates by their stored vectors, the best first. It fails if a
// score is NaN, which only damaged vectors give. Its result does not share memory with s.
func (x *hnsw) rescoreFirst(s *hnswScratch, query []float32, k, n int) ([]rank.Hit, error) {
	rows := s.candidates[:n]
	if len(s.scores) < n {
		s.scores = make([]float32, n)
	}
	x.kernels.DotGather(query, x.rows, rows, s.scores)
	s.order = s.order[:0]
	for i, row := range rows {
		hit := rank.Hit{Ordinal: rank.Ordinal(row), Score: s.scores[i]}
		if math.IsNaN(float64(hit.Score)) {
			return x.sortedHits([]rank.Hit{hit})
		}
		s.order = append(s.order, hit.Key())
	}
	slices.Sort(s.order)
	hits := make([]rank.Hit, min(k, n))
	for i := range hits {
		hits[i] = rank.HitOf(s.order[i])
	}
	return hits, nil
}

// Verify compares the checksums of the graph and of the vectors, unless that was done. It returns a *DamageError, or
// ctx's error if that ends first.
func (x *hnsw) Verify(ctx context.Context) error {
	if err := x.Vectors.Verify(ctx); err != nil {
		return err
	}
	return x.graph.Verify(ctx)
}

// Check reads both files and returns an error if one is damaged or they do not belong together.
func (x *hnsw) Check() error {
	return errors.Join(x.Vectors.Check(), x.graph.Check(x.rows))
}

// Close unmaps the files of the graph and of the vectors. It returns the errors of both.
func (x *hnsw) Close() error { return errors.Join(x.graph.Close(), x.Vectors.Close()) }
