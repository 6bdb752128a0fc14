package pools

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"example.org/conclave/calibration"
	"example.org/conclave/internal/questions"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search"
)

// The number of passages in a question's pool beside the one that answers (Yang et al.,
// 2022, table 3): BM25's first hits, and passages drawn at random.
const (
	poolHard   = 9
	poolRandom = 20
)

// Gatherer asks all sources of a collection about some passages; *search.Engine is
// one.
type Gatherer interface {
	GatherAmong(
		ctx context.Context, r search.Request, depth int, choose func(words []rank.Hit) ([]rank.Ordinal, error),
	) (search.Evidence, error)
}

// Gather returns evidence like calibration.Gather, but each question is asked about thirty passages only: the first
// one that answers; the first nine of BM25 that do not; and twenty others at random, by the question's id. timeout is
// that of each question. It fails for a question that nothing answers. progress is called with the number of
// questions asked and of all.
func Gather(ctx context.Context, engine Gatherer, passages Passages, domains []questions.Domain,
	timeout time.Duration, progress func(done, total int)) (*calibration.Evidence, error) {
	ask := func(ctx context.Context, q *calibration.Question) (search.Evidence, error) {
		if len(q.Relevant) == 0 {
			return search.Evidence{}, fmt.Errorf(
				"nothing answers it, so that it cannot be ranked: leave unanswerable questions out",
			)
		}
		all := q.Relevant
		depth := poolHard + len(all)
		return engine.GatherAmong(ctx, search.Request{Question: q.Text, TimeoutMS: int(timeout.Milliseconds())}, depth,
			func(words []rank.Hit) ([]rank.Ordinal, error) {
				pool, err := poolOf(q.ID, all, words, passages)
				if err == nil {
					q.Relevant = map[rank.Ordinal]float64{pool[0]: 1}
				}
				return pool, err
			})
	}
	return calibration.GatherBy(ctx, passages, domains, progress, ask)
}

// Passages are the passages of a collection; *folder.Generation implements it.
type Passages interface {
	questions.Passages
	Ordinals() int // what every ordinal is below
	Deleted(rank.Ordinal) bool
}

// poolOf returns the passages to rank for a question: the lowest ordinal of relevant, then the first poolHard of
// words that are not relevant, then poolRandom passages that are neither, drawn at random with a seed made from id,
// so the pool is the same in every run. It fails if the collection is too small, or too many passages are deleted, to
// draw that many. It panics if relevant is empty.
func poolOf(id string, relevant map[rank.Ordinal]float64, words []rank.Hit, passages Passages) ([]rank.Ordinal, error) {
	pool := []rank.Ordinal{slices.Min(slices.Collect(maps.Keys(relevant)))}
	for _, h := range words {
		if _, answers := relevant[h.Ordinal]; !answers && len(pool) <= poolHard {
			pool = append(pool, h.Ordinal)
		}
	}
	size := len(pool) + poolRandom
	if n := passages.Ordinals(); n < 2*(size+len(relevant)) {
		return nil, fmt.Errorf(
			"the collection has %d passages, too few to draw %d at random beside those that answer", n, poolRandom,
		)
	}
	sum := sha256.Sum256([]byte(id))
	draws := rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])))
	for range 100 * poolRandom {
		o := rank.Ordinal(draws.IntN(passages.Ordinals()))
		if _, answers := relevant[o]; answers || slices.Contains(pool, o) {
			continue
		}
		if passages.Deleted(o) {
			continue
		}
		pool = append(pool, o)
		if len(pool) == size {
			return pool, nil
		}
	}
	return nil, fmt.Errorf("too many passages of the collection are deleted to draw %d at random", poolRandom)
}
