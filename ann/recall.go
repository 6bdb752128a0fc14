package ann

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"example.org/conclave/internal/rank"
)

// MeasuredRecall is how many of the nearest vectors an index finds, compared with
// exact search over the same vectors. It is what a collection stores, a server
// compares with Kind.Floor10, and people are shown.
type MeasuredRecall struct {
	Queries int     `json:"queries" yaml:"queries"`
	At10    float64 `json:"at10" yaml:"at10"`   // of the 10 nearest, the share found among 10
	At100   float64 `json:"at100" yaml:"at100"` // of the 100 nearest, among 100
}

// RecallOfStored measures the recall of an index with n of its own vectors as queries, or all if it has fewer, drawn
// at random with the seed. The query's own vector does not count, since finding it is no achievement. An empty index
// has recall 1. It fails if a search does or ctx ends.
func RecallOfStored(ctx context.Context, x Index, n int, seed uint64) (MeasuredRecall, error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	drawn := rng.Perm(x.Len())
	var queries [][]float32
	var selves []rank.Ordinal
	for _, o := range drawn {
		if len(queries) == n {
			break
		}
		query := x.Vector(rank.Ordinal(o))
		switch n := len(query) / x.Dimension(); {
		case n == 0:
			continue
		case n > 1: // one of a passage's
			query = query[rng.IntN(n)*x.Dimension():][:x.Dimension()]
		}
		queries, selves = append(queries, query), append(selves, rank.Ordinal(o))
	}
	return recallOf(ctx, x, queries, selves)
}

// recallOf returns the share of the k nearest vectors that an index finds among k hits, over all queries, for k of 10
// and 100. A hit counts if its score reaches the k-th best exact score, so that any of equally near vectors will do.
// Without queries or vectors the recall is 1. selves has a vector for each query that does not count; nil: none. All
// exact searches share passes over the vectors, which for large files are most of the work. It fails if a search does.
func recallOf(ctx context.Context, x Index, queries [][]float32, selves []rank.Ordinal) (MeasuredRecall, error) {
	out := MeasuredRecall{Queries: len(queries)}
	more := 0
	if selves != nil {
		more = 1
	}
	exact, err := x.SearchExact(ctx, queries, 100+more)
	if err != nil {
		return out, fmt.Errorf("measuring recall: %w", err)
	}
	for k, share := range map[int]*float64{10: &out.At10, 100: &out.At100} {
		found, wanted := 0, 0
		for i, q := range queries {
			hits, _, err := x.Search(ctx, q, SearchOptions{K: k + more, Ef: defaultEf(k)})
			if err != nil {
				return out, fmt.Errorf("measuring recall: %w", err)
			}
			want := exact[i]
			if selves != nil {
				hits, want = withoutSelf(hits, selves[i]), withoutSelf(want, selves[i])
			}
			f, w := countFound(hits, want, k)
			found, wanted = found+f, wanted+w
		}
		*share = 1
		if wanted > 0 {
			*share = float64(found) / float64(wanted)
		}
	}
	return out, nil
}

// countFound returns how many of the first k hits reach the score of the last of the first k exact hits, and how many
// of these there are. Both are 0 if exact is empty.
func countFound(hits, exact []rank.Hit, k int) (found, wanted int) {
	hits, exact = hits[:min(k, len(hits))], exact[:min(k, len(exact))]
	if len(exact) == 0 {
		return 0, 0
	}
	worst := exact[len(exact)-1].Score
	for _, h := range hits {
		if h.Score >= worst {
			found++
		}
	}
	return found, len(exact)
}

// withoutSelf returns a copy of hits without the hit of the vector self, whose own vector was the query.
func withoutSelf(hits []rank.Hit, self rank.Ordinal) []rank.Hit {
	return slices.DeleteFunc(slices.Clone(hits), func(h rank.Hit) bool { return h.Ordinal == self })
}
