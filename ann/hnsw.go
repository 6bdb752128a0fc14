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
	return graph.Build(
		ctx, d, path, v.rows, v.dim, v.Stamp(),
		graph.Params{M: o.M, EfConstruction: o.EfConstruction, Seed: o.Seed, Threads: o.Threads, Progress: o.Progress},
	)
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

// The work of comparing all codes, in comparisons that a walk makes. Of 300,000 vectors of 384 numbers a walk takes 75
// to 130 nanoseconds for each, since what it meets lies anywhere; asking whether a node may be found takes 1.5, and
// comparing a code in the order in which they lie 20.
const (
	codeWork = 1. / 4  // of a code that may be found
	nodeWork = 1. / 64 // of asking whether a node may be found
)

// scanWork returns about how much work it is to compare the codes of the allowed vectors of n.
func scanWork(allowed, n int) int { return int(codeWork*float64(allowed) + nodeWork*float64(n)) }

// walkWork returns about how much work it is to search the graph of n vectors with ef candidates for allowed ones:
// without a filter some number of comparisons for each (graph.ComparedPerKept), and with one n/allowed times as many,
// since it also has to pass what it may not find.
//
// Of 300,000 generated vectors, for the 100 best with ef 300 and filters that have nothing to do with the query:
// milliseconds of one thread, the median and the worst of 60 queries, each the least of four times, on a busy machine.
// Recall@10 is 1 in all rows. A walk that gave up compared all codes in the end.
//
//	allowed  all vectors     the graph           chosen
//	0.01      0.2   0.2      0.8  1.5 gave up    0.2  0.2  all vectors
//	0.02      0.4   0.4      1.3  1.8 gave up    0.4  0.4  all vectors
//	0.05      0.9   1.1      1.8  3.8 gave up    1.0  1.2  all codes
//	0.1       1.7   2.3      2.5  4.6 gave up    1.6  3.3  all codes
//	0.2       8.8  18.5      1.0  2.5            1.2  2.5  the graph
//	0.3      16.9  24.4      0.5  0.8            0.6  0.9  the graph
//	0.5      29.0  44.1      0.4  0.6            0.4  0.6  the graph
//	0.9      60.9  78.7      0.2  0.3            0.2  0.2  the graph
//
// The least time of all vectors is that of a filter whose vectors are in the processor's caches, as four searches in a
// row leave them. A filter may also have to do with the query: if it leaves out what is nearest, a walk passes more,
// and ends in comparing all codes when it has compared as many vectors as these take. (conclave-lab bench ann --filters
// prints the whole table.)
func walkWork(allowed, n, ef int) int {
	return int(graph.ComparedPerKept * float64(ef) * float64(n) / float64(allowed))
}

// Search returns up to o.K hits, the best first, with their exact inner products. It compares all vectors that may be
// found if o.Exact is set, or if they are so few that this costs no more than a search without a filter, or than
// comparing their codes, and o.Walk is not set. Otherwise it walks the graph or compares codes (findCandidates). It
// fails if the query or o is invalid (checkQuery), a file is damaged or ctx ends.
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
	few := max(graph.ComparedPerKept*ef, scanWork(allowed, x.count))
	if o.Exact || !o.Walk && allowed <= few {
		return x.scanVectors(ctx, query, o)
	}
	s := x.scratch.Get().(*hnswScratch)
	hits, stats, err := x.search(ctx, s, query, ef, allowed, o)
	x.scratch.Put(s) // not after a panic, which leaves marks behind
	return hits, stats, err
}

// search returns the o.K best of the candidates that findCandidates finds with ef and allowed, or compares all vectors
// that the filter lets through if the codes of all were compared and may have misled (codesDecide). It fails if ctx
// ends, or a file is damaged.
func (x *hnsw) search(
	ctx context.Context,
	s *hnswScratch,
	query []float32,
	ef, allowed int,
	o SearchOptions,
) ([]rank.Hit, SearchStats, error) {
	rescored, stats, err := x.findCandidates(ctx, s, query, ef, allowed, o)
	if err != nil {
		return nil, stats, err
	}
	hits, err := x.rescoreFirst(s, query, o.K, rescored)
	if err == nil && stats.Codes && len(s.candidates) < allowed && !s.codesDecide(hits) {
		exact, all, err := x.scanVectors(ctx, query, o)
		all.Scored += stats.Scored
		all.Codes = true
		return exact, all, err
	}
	return hits, stats, err
}

// codesDecide reports whether no vector that was left out can be one of hits, the best of the candidates: the worst of
// them is better than the worst candidate's code, and by more than any candidate's code is wrong.
func (s *hnswScratch) codesDecide(hits []rank.Hit) bool {
	if len(hits) == 0 {
		return false
	}
	approximate := s.RowScores()
	wrong := float32(0)
	for i, score := range approximate {
		wrong = max(wrong, score-s.scores[i], s.scores[i]-score)
	}
	return hits[len(hits)-1].Score-approximate[len(approximate)-1] > wrong
}

// tombstoneShare is used twice. If a filter leaves out less than one vector in
// tombstoneShare, as after a few deletions, the graph is first searched without the
// filter. If then no more than one candidate in tombstoneShare has to be dropped, the
// others are as good as those of a filtered search, which takes a third longer.
const tombstoneShare = 32

// A search that compares all codes keeps scanKept times as many candidates as a walk, and at least one in scanShare of
// those that may be found, so that codes decide (codesDecide) unless a filter leaves vectors far from the query, where
// scores lie closer together than the codes' error.
const (
	scanKept  = 2
	scanShare = 32
)

// findCandidates sets s.candidates to the rows that the graph finds and the filter lets through, and returns how many
// of the first have to be rescored by their vectors. ef is how many candidates the graph keeps, allowed how many
// vectors the filter lets through. It compares the codes of all these if that is less work than walking the graph, or
// when it turns out to be. It fails for a damaged graph, and if ctx ends.
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
	most := scanWork(allowed, x.count)
	err = graph.ErrTooNarrow
	if allowed > 0 && (o.Walk || walkWork(allowed, x.count, ef) <= most) {
		s.candidates, err = x.graph.Search(ctx, &s.Searcher, query, ef, o.Filter.words, most, s.candidates)
		stats.Scored += s.Scored()
	}
	if errors.Is(err, graph.ErrTooNarrow) {
		stats.Codes = true
		kept := max(scanKept*ef, allowed/scanShare)
		s.candidates, err = x.graph.Scan(ctx, &s.Searcher, query, kept, o.Filter.words, s.candidates)
		stats.Scored += s.Scored()
	}
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
