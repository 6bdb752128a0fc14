package ann

import (
	"context"
	"fmt"
	"math"
	"sync"

	"example.org/conclave/ann/kernel"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

// lateIndex compares a query with stored lists of token vectors: for each token of
// the query the greatest inner product with a token of the list, and of these
// the sum (Khattab and Zaharia 2020, "ColBERT: Efficient and Effective Passage
// Search via Contextualized Late Interaction over BERT", section 3.2). There is
// no graph: a search compares with every list, which takes some microseconds
// each. So such an index is mostly used to score passages that other sources have
// found (Scores).
//
// The scores are those of the stored codes with the query's (kernel.Question),
// the same to the last bit on every processor.
type lateIndex struct {
	*tokens
	kernels   *kernel.Set
	questions sync.Pool // of *kernel.Question
}

// openLate opens a file of lists of token vectors as an index. The caller closes it. It fails if the header is
// damaged.
func openLate(d disk.Disk, path string) (*lateIndex, error) {
	t, err := openTokens(d, path)
	if err != nil {
		return nil, err
	}
	return &lateIndex{
		tokens:    t,
		kernels:   kernel.Best(),
		questions: sync.Pool{New: func() any { return new(kernel.Question) }},
	}, nil
}

// Scores writes the late-interaction scores of lists to out, which must have an element for each; rank.NoVector for an
// empty list, and NaN for one that does not exist. All scores are NaN if the query is no list of token vectors or has
// more than maxQuestionTokens, or the file is damaged.
func (x *lateIndex) Scores(query []float32, ordinals []rank.Ordinal, out []float32) {
	q := x.questions.Get().(*kernel.Question)
	defer x.questions.Put(q)
	usable := len(query) <= maxQuestionTokens*x.dim && q.Set(query, x.dim) && x.Verify(context.Background()) == nil
	for i, o := range ordinals {
		out[i] = float32(math.NaN())
		if usable {
			out[i] = x.score(q, o)
		}
	}
}

// Similarity returns the late-interaction score of a passage for a question, as if the passage were stored. query and
// list have the token vectors of both, of dim elements, one after the other. It fails if one is empty, too long or not
// finite.
func Similarity(query, list []float32, dim int) (float32, error) {
	if err := kernel.CheckTokenDimension(dim); err != nil {
		return 0, err
	}
	if err := checkTokens(query, dim, maxQuestionTokens); err != nil {
		return 0, fmt.Errorf("the question: %w", err)
	}
	if err := checkTokens(list, dim, maxPassageTokens); err != nil {
		return 0, fmt.Errorf("the passage: %w", err)
	}
	var q kernel.Question
	q.Set(query, dim) // tokens that were let through can be scored
	blocks := make([]byte, kernel.TokenBytes(len(list)/dim, dim))
	kernel.EncodeTokens(list, dim, blocks)
	return kernel.Best().MaxSim(&q, blocks), nil
}

// score returns the score of a list; rank.NoVector if it is empty, and NaN if the ordinal does not exist.
func (x *lateIndex) score(q *kernel.Question, o rank.Ordinal) float32 {
	blocks := x.blocksOf(o)
	switch {
	case int64(o) >= int64(x.count):
		return float32(math.NaN())
	case blocks == nil:
		return rank.NoVector
	}
	return x.kernels.MaxSim(q, blocks)
}

// Search returns up to o.K hits, the best first, by late interaction. It always compares all lists that the filter lets
// through and that are not empty: o.Ef and o.Exact change nothing. It fails if the query or o is invalid (checkQuery),
// the file is damaged or ctx ends.
func (x *lateIndex) Search(ctx context.Context, query []float32, o SearchOptions) ([]rank.Hit, SearchStats, error) {
	if err := x.checkQuery(query, o); err != nil {
		return nil, SearchStats{}, err
	}
	if err := x.Verify(ctx); err != nil {
		return nil, SearchStats{}, err
	}
	q := x.questions.Get().(*kernel.Question)
	defer x.questions.Put(q)
	q.Set(query, x.dim) // a query that check let through can be scored
	if o.Filter == nil {
		return x.scanLists(ctx, q, o.K, x.count, func(i int) rank.Ordinal { return rank.Ordinal(i) })
	}
	ids := o.Filter.appendOrdinals(x.count, make([]uint32, 0, o.Filter.Len()))
	return x.scanLists(ctx, q, o.K, len(ids), func(i int) rank.Ordinal { return rank.Ordinal(ids[i]) })
}

// checkQuery returns a *QueryError if the query is no list of 1 to maxQuestionTokens finite token vectors, K is below
// 1, or the filter has an ordinal that the index lacks.
func (x *lateIndex) checkQuery(query []float32, o SearchOptions) error {
	if err := checkTokens(query, x.dim, maxQuestionTokens); err != nil {
		return &QueryError{err.Error()}
	}
	return o.checkBounds(x.count)
}

// scanLists is how many lists are compared between two checks of the context, mostly
// in some ten microseconds.
const scanLists = 16

// scanLists returns the k best of n lists, the best first, without the empty ones; at gives the ordinal of each, from
// 0. It fails if ctx ends.
func (x *lateIndex) scanLists(
	ctx context.Context,
	q *kernel.Question,
	k, n int,
	at func(int) rank.Ordinal,
) ([]rank.Hit, SearchStats, error) {
	top := rank.NewTopK(min(k, n))
	for i := range n {
		if i%scanLists == 0 {
			if err := ctx.Err(); err != nil {
				return nil, SearchStats{}, err
			}
		}
		o := at(i)
		if score := x.score(q, o); score != rank.NoVector {
			top.Push(rank.Hit{Ordinal: o, Score: score})
		}
	}
	return top.Sorted(), SearchStats{Scored: n, Exact: true}, nil
}

// SearchExact returns what Search does for each query, one after the other, since arithmetic takes longer than
// reading and a shared pass would save nothing. It stops at the first query that fails. k is how many hits each gets.
func (x *lateIndex) SearchExact(ctx context.Context, queries [][]float32, k int) ([][]rank.Hit, error) {
	out := make([][]rank.Hit, len(queries))
	for i, q := range queries {
		var err error
		out[i], _, err = x.Search(ctx, q, SearchOptions{K: k})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
