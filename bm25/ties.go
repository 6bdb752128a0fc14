package bm25

import (
	"fmt"
	"math"

	"example.org/conclave/internal/rank"
)

// none is a threshold that every score is above.
const none float32 = -1

// OrderTies makes equal scores of passages of different segments rank by
// compare, which is negative when a ranks before b, instead of by ordinal; its
// error is the search's.
// Inside a segment the lower ordinal ranks first whatever compare says: passages
// are to be numbered in its order there. It must be called before the first
// search.
func (s *Searcher) OrderTies(compare func(a, b rank.Ordinal) (int, error)) { s.ties = compare }

// mergeHits merges two sorted lists and keeps the first k.
func mergeHits(a, b []rank.Hit, k int, ties func(a, b rank.Ordinal) (int, error)) ([]rank.Hit, error) {
	if len(a) == 0 {
		return b, nil
	}
	out := make([]rank.Hit, 0, min(k, len(a)+len(b)))
	for len(out) < k && (len(a) > 0 || len(b) > 0) {
		first := len(b) == 0 || len(a) > 0 && a[0].Score > b[0].Score
		if len(a) > 0 && len(b) > 0 && a[0].Score == b[0].Score {
			order, err := ties(a[0].Ordinal, b[0].Ordinal)
			if err != nil {
				return nil, fmt.Errorf("ordering passages with equal scores: %w", err)
			}
			first = order <= 0
		}
		if first {
			out = append(out, a[0])
			a = a[1:]
		} else {
			out = append(out, b[0])
			b = b[1:]
		}
	}
	return out, nil
}

// floor returns the largest score that is too low for a further segment's hit to be
// among the k best: one that equals the last hit's may still rank before it.
func floor(hits []rank.Hit, k int) float32 {
	if len(hits) < k {
		return none
	}
	return math.Nextafter32(hits[k-1].Score, none)
}
