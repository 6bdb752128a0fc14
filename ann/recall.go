package ann

import (
	"context"
	"fmt"
	"math/rand/v2"

	"conclave/rank"
)

// Measured is how many of the nearest vectors an index finds, compared with
// exact search over the same vectors. It is what a collection stores, a server
// compares with Kind.Floor10, and people are shown.
type Measured struct {
	Queries int     `json:"queries" yaml:"queries"`
	At10    float64 `json:"at10" yaml:"at10"`   // of the 10 nearest, the share found among 10
	At100   float64 `json:"at100" yaml:"at100"` // of the 100 nearest, among 100
}

// Recall is the share of the k nearest vectors that the index finds among k
// hits with its default efSearch, over all queries. A hit counts when its
// score reaches the k-th best exact score, so that of equally near vectors
// any will do. Without queries or vectors nothing can be missed: 1.
func Recall(ctx context.Context, x Index, queries [][]float32, k int) (float64, error) {
	found, wanted := 0, 0
	for _, q := range queries {
		f, w, err := compare(ctx, x, q, k, nil)
		if err != nil {
			return 0, err
		}
		found, wanted = found+f, wanted+w
	}
	return share(found, wanted), nil
}

// RecallOf measures an index with given questions' vectors.
func RecallOf(ctx context.Context, x Index, queries [][]float32) (Measured, error) {
	return measure(ctx, x, len(queries), func(i int) ([]float32, *rank.Ordinal) { return queries[i], nil })
}

// RecallOfStored measures an index with n of its own vectors, drawn with the
// seed. The vector that asks is left out of what is wanted and what is found:
// finding itself is no achievement.
func RecallOfStored(ctx context.Context, x Index, n int, seed uint64) (Measured, error) {
	drawn := rand.New(rand.NewPCG(seed, 0)).Perm(x.Len())
	drawn = drawn[:min(n, len(drawn))]
	return measure(ctx, x, len(drawn), func(i int) ([]float32, *rank.Ordinal) {
		self := rank.Ordinal(drawn[i])
		return x.Vector(self), &self
	})
}

func measure(ctx context.Context, x Index, n int, query func(i int) ([]float32, *rank.Ordinal)) (Measured, error) {
	var found, wanted [2]int
	for i := range n {
		q, self := query(i)
		for j, k := range [2]int{10, 100} {
			f, w, err := compare(ctx, x, q, k, self)
			if err != nil {
				return Measured{}, fmt.Errorf("measuring recall: %w", err)
			}
			found[j], wanted[j] = found[j]+f, wanted[j]+w
		}
	}
	return Measured{Queries: n, At10: share(found[0], wanted[0]), At100: share(found[1], wanted[1])}, nil
}

// compare counts the wanted and the found of one query; self is left out.
func compare(ctx context.Context, x Index, query []float32, k int, self *rank.Ordinal) (found, wanted int, err error) {
	more := k
	if self != nil {
		more++
	}
	exact, _, err := x.Search(ctx, query, SearchOptions{K: more, Exact: true})
	if err != nil {
		return 0, 0, err
	}
	hits, _, err := x.Search(ctx, query, SearchOptions{K: more, Ef: DefaultEf(k)})
	if err != nil {
		return 0, 0, err
	}
	exact, hits = without(exact, self, k), without(hits, self, k)
	if len(exact) == 0 {
		return 0, 0, nil
	}
	worst := exact[len(exact)-1].Score
	for _, h := range hits {
		if h.Score >= worst {
			found++
		}
	}
	return found, len(exact), nil
}

// without is the first k hits other than self.
func without(hits []rank.Hit, self *rank.Ordinal, k int) []rank.Hit {
	out := make([]rank.Hit, 0, len(hits))
	for _, h := range hits {
		if (self == nil || h.Ordinal != *self) && len(out) < k {
			out = append(out, h)
		}
	}
	return out
}

func share(found, wanted int) float64 {
	if wanted == 0 {
		return 1
	}
	return float64(found) / float64(wanted)
}
