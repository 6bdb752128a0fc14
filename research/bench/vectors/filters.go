package vectors

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"example.org/conclave/ann"
	"example.org/conclave/internal/rank"
)

// DefaultSelectivities returns the shares of vectors that a filter allows, from
// nearly all, as tombstones leave, to one in two thousand.
func DefaultSelectivities() []float64 {
	return []float64{0.999, 0.99, 0.9, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005}
}

// FilterPoint is the cost and the result of searching when a filter allows a share of the vectors. Speeds are queries
// per second of one thread.
type FilterPoint struct {
	// Which vectors the filter allows: "none" is no filter; "random" ones; those "near" the query,
	// as when it asks for what its tag is about; those "far" from it, as when
	// its tag is about something else; or those near another vector, "cluster",
	// which is one tag for all queries.
	Tags        string  `json:"tags"`
	Selectivity float64 `json:"selectivity"`
	Allowed     int     `json:"allowed"`
	// The graph, walked whatever it costs.
	WalkQPS      float64 `json:"walk_qps"`
	WalkRecall10 float64 `json:"walk_recall10"`
	GivenUp      float64 `json:"walk_given_up"` // share of walks that ended in comparing all codes
	// Comparing all that the filter allows, which is exact.
	ScanQPS float64 `json:"scan_qps"`
	// What a search does of its own accord.
	QPS       float64 `json:"qps"`
	Recall10  float64 `json:"recall10"`
	Recall100 float64 `json:"recall100"`
	Exact     float64 `json:"exact"` // share of searches that compared all
}

// filterTurns is the number of times that each query is asked in each way, in a row, so that the processor's caches are
// each way's own. The fastest time counts: anything else on the machine only slows.
const filterTurns = 4

// maxFilterQueries bounds the queries of a point: each has filters of its own,
// and some searches of a point are slow.
const maxFilterQueries = 100

// RunFilters measures filtered searches of an index for K hits with the first of o.Ef, and before them searches
// without a filter. The three ways take turns query by query, so that other load on the machine affects all of them
// equally. It stops at the first search that fails, and if ctx ends.
func RunFilters(ctx context.Context, o Trial, selectivities []float64) (out []FilterPoint, err error) {
	x, queries, end, err := o.begin(ctx, &Figures{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	ef := o.Ef[0]
	rng := rand.New(rand.NewPCG(o.Build.Seed, 1))
	if len(queries) > maxFilterQueries {
		some := make([][]float32, maxFilterQueries)
		for i, at := range rng.Perm(len(queries))[:maxFilterQueries] {
			some[i] = queries[at]
		}
		queries = some
	}
	none, err := filterPoint(ctx, x, queries, ef, tagging{}, x.Len())
	if err != nil {
		return nil, err
	}
	none.Tags, none.Selectivity = "none", 1
	out = append(out, none)
	for _, tags := range []string{"random", "near", "far", "cluster"} {
		filters, err := newTagging(ctx, x, queries, tags, rng)
		if err != nil {
			return nil, err
		}
		for _, share := range selectivities {
			p, err := filterPoint(ctx, x, queries, ef, filters, max(1, int(share*float64(x.Len()))))
			if err != nil {
				return nil, err
			}
			p.Tags, p.Selectivity = tags, share
			out = append(out, p)
		}
	}
	return out, nil
}

// tagging orders the rows for each query: a filter allows the first of them.
type tagging struct {
	shared []uint32   // one order for all queries
	own    [][]uint32 // or one for each
}

// newTagging returns the order of rows for each query, for tags of a kind (FilterPoint.Tags): random, near, far or
// cluster. It fails if ctx ends.
func newTagging(ctx context.Context, x ann.Index, queries [][]float32, tags string, rng *rand.Rand) (tagging, error) {
	n := x.Len()
	if tags == "random" {
		order := make([]uint32, n)
		for i, at := range rng.Perm(n) {
			order[i] = uint32(at)
		}
		return tagging{shared: order}, nil
	}
	if tags == "cluster" {
		order, err := byNearness(ctx, x, x.Vector(rank.Ordinal(rng.IntN(n))))
		return tagging{shared: order}, err
	}
	var t tagging
	for _, q := range queries {
		order, err := byNearness(ctx, x, q)
		if err != nil {
			return t, err
		}
		if tags == "far" {
			slices.Reverse(order)
		}
		t.own = append(t.own, order)
	}
	return t, nil
}

// byNearness returns the rows in the order of their nearness to a query, the nearest first. It fails only if ctx has
// ended.
func byNearness(ctx context.Context, x ann.Index, query []float32) ([]uint32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	order, scores := make([]uint32, x.Len()), make([]float32, x.Len())
	for i := range order {
		order[i] = uint32(i)
		x.Scores(query, []rank.Ordinal{rank.Ordinal(i)}, scores[i:i+1])
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Compare(scores[b], scores[a]) })
	return order, nil
}

// filter returns the filter for the query with an index that allows the first count of the rows; nil if there is no
// order: all are allowed.
func (t tagging) filter(query, rows, count int) *ann.Filter {
	order := t.shared
	if order == nil && t.own == nil {
		return nil
	}
	if order == nil {
		order = t.own[query]
	}
	f := ann.NewFilter(rows)
	for _, row := range order[:count] {
		f.Add(rank.Ordinal(row))
	}
	return f
}

// filterPoint measures one point: filters that allow this number of the rows, searched in three ways, of which the
// fastest of filterTurns times counts. It fails if a search does or ctx ends. ef is how many candidates the graph
// keeps.
func filterPoint(
	ctx context.Context,
	x ann.Index,
	queries [][]float32,
	ef int,
	tags tagging,
	allowed int,
) (FilterPoint, error) {
	p := FilterPoint{Allowed: allowed}
	var walk, scan, chosen time.Duration
	found10, walked10, wanted10, found100, wanted100, givenUp, exact := 0, 0, 0, 0, 0, 0, 0
	var shared *ann.Filter
	if tags.shared != nil {
		shared = tags.filter(0, x.Len(), allowed)
	}
	for i, q := range queries {
		f := shared
		if f == nil {
			f = tags.filter(i, x.Len(), allowed)
		}
		var lists [3][]rank.Hit
		var stats [3]ann.SearchStats
		var best [3]time.Duration
		for way, o := range [3]ann.SearchOptions{{Exact: true}, {Walk: true}, {}} {
			o.K, o.Ef, o.Filter = K, ef, f
			for turn := range filterTurns {
				start := time.Now()
				hits, did, err := x.Search(ctx, q, o)
				took := time.Since(start)
				if err != nil {
					return p, err
				}
				lists[way], stats[way] = hits, did
				if turn == 0 || took < best[way] {
					best[way] = took
				}
			}
		}
		scan, walk, chosen = scan+best[0], walk+best[1], chosen+best[2]
		if stats[1].Codes {
			givenUp++
		}
		if stats[2].Exact {
			exact++
		}
		want := lists[0]
		wanted10 += min(10, len(want))
		walked10 += atLeast(lists[1], want, 10)
		found10 += atLeast(lists[2], want, 10)
		wanted100 += len(want)
		found100 += atLeast(lists[2], want, K)
	}
	n := float64(max(len(queries), 1))
	p.WalkQPS, p.ScanQPS, p.QPS = n/walk.Seconds(), n/scan.Seconds(), n/chosen.Seconds()
	p.GivenUp, p.Exact = float64(givenUp)/n, float64(exact)/n
	p.WalkRecall10 = float64(walked10) / float64(max(wanted10, 1))
	p.Recall10 = float64(found10) / float64(max(wanted10, 1))
	p.Recall100 = float64(found100) / float64(max(wanted100, 1))
	return p, nil
}

// atLeast returns how many of the first k hits have a score that is not below the k-th one's of want; 0 if want is
// empty.
func atLeast(hits, want []rank.Hit, k int) int {
	want = want[:min(k, len(want))]
	n := 0
	for _, h := range hits[:min(k, len(hits))] {
		if len(want) > 0 && h.Score >= want[len(want)-1].Score {
			n++
		}
	}
	return n
}
