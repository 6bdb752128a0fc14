package fusion

import (
	"math"
	"slices"

	"example.org/conclave/internal/rank"
)

// Scale is a source's column and its scores of random passages of the collection, by which scores of different sources
// can be compared. Passages of which it has no vector are left out.
type Scale struct {
	Column int
	Random []rank.Hit
}

// Estimate sets the scores that a source lacks since it has no vectors of some passages, such as those in a language
// that it does not read, where other sources have one. These say by how many standard deviations a candidate is above
// random passages of the same kind, which are those of which the source has no vectors either; on the mean of these
// sources it is as far above the random passages that the source scores. Where no source has a score, the estimate is
// the mean of these.
//
// All scores that can be had must be in the table (Complete, Follow). A source that scores fewer than LeastRandom
// random passages stays without a score, and no estimate rests on it. Where fewer than LeastRandom have no vector of
// the source, all are those of the same kind.
func (c *Candidates) Estimate(sources []Scale) {
	for _, s := range sources {
		if len(s.Random) < LeastRandom || !c.lacksVectors(s.Column) {
			continue
		}
		own := distributionOf(s.Random)
		var others []Scale
		var scales []distribution // of others
		for _, other := range sources {
			if other.Column != s.Column && len(other.Random) >= LeastRandom {
				others, scales = append(others, other), append(scales, distributionOf(besides(other.Random, s.Random)))
			}
		}
		for row := range c.ordinals {
			if !c.cellAt(row, s.Column).noVector {
				continue
			}
			var above []float64 // in standard deviations
			for i, other := range others {
				if x := c.cellAt(row, other.Column); !x.noVector && x.origin != FromNone {
					above = append(above, scales[i].deviationsAbove(float64(x.score)))
				}
			}
			score := own.mean
			if len(above) > 0 {
				score += own.deviation * sumAscending(above) / float64(len(above))
			}
			*c.cellAt(row, s.Column) = cell{score: float32(score), origin: FromEstimate, noVector: true}
		}
	}
}

// lacksVectors reports whether the source of a column has no vector of a candidate.
func (c *Candidates) lacksVectors(column int) bool {
	for row := range c.ordinals {
		if c.cellAt(row, column).noVector {
			return true
		}
	}
	return false
}

// IsEstimated reports whether a source's score of a passage is an estimate: of the source that Signals reads closeness
// from, dense or late. It is false if the passage is no candidate.
func (c *Candidates) IsEstimated(sources []ObservedSource, passage rank.Ordinal) bool {
	row, ok := slices.BinarySearch(c.ordinals, passage)
	dense, late, _ := signalSources(sources)
	isEstimate := func(s *ObservedSource) bool { return s != nil && c.cellAt(row, s.Column).origin == FromEstimate }
	return ok && (isEstimate(dense) || isEstimate(late))
}

// besides returns those of the hits whose passages are not among others; all if they are fewer than LeastRandom.
func besides(hits, others []rank.Hit) []rank.Hit {
	known := make(map[rank.Ordinal]bool, len(others))
	for _, h := range others {
		known[h.Ordinal] = true
	}
	rest := slices.DeleteFunc(slices.Clone(hits), func(h rank.Hit) bool { return known[h.Ordinal] })
	if len(rest) < LeastRandom {
		return hits
	}
	return rest
}

// distribution is the mean and the standard deviation of scores, which is leastDeviation at least.
type distribution struct{ mean, deviation float64 }

// distributionOf returns the distribution of the scores of hits, the same whatever their order; the mean 0 without
// hits.
func distributionOf(hits []rank.Hit) distribution {
	if len(hits) == 0 {
		return distribution{0, leastDeviation}
	}
	scores := make([]float64, len(hits))
	for i, h := range hits {
		scores[i] = float64(h.Score)
	}
	slices.Sort(scores)
	n := float64(len(scores))
	sum := 0.0
	for _, s := range scores {
		sum += s
	}
	mean := sum / n
	squares := 0.0
	for _, s := range scores {
		squares += (s - mean) * (s - mean)
	}
	return distribution{mean, max(math.Sqrt(squares/n), leastDeviation)}
}

// deviationsAbove returns by how many standard deviations a score is above the mean.
func (d distribution) deviationsAbove(score float64) float64 { return (score - d.mean) / d.deviation }
