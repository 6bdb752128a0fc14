package bm25

import (
	"fmt"
	"math"

	"example.org/conclave/internal/rank"
)

// none is a threshold that every score is above.
const none float32 = -1

// OrderTies sets the order of equal scores of passages of different segments: compare is negative if a ranks before b,
// and its error fails the search. Without it the lower ordinal ranks first, as it always does inside a segment, where
// passages must be numbered in the order of compare. Call it before the first search.
func (s *Searcher) OrderTies(compare func(a, b rank.Ordinal) (int, error)) { s.ties = compare }

// mergeHits returns the first k hits of two sorted lists together. Equal scores of both are ordered by ties, whose
// error it returns. If a is empty, the result is b itself.
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

// floor returns the threshold for further segments, just below the score of the k-th hit, as equal scores may rank
// before it: a hit of another segment can be among the k best only with a score above it. It is none if there are fewer
// than k hits. hits must be in order.
func floor(hits []rank.Hit, k int) float32 {
	if len(hits) < k {
		return none
	}
	return math.Nextafter32(hits[k-1].Score, none)
}
