package sources

import (
	"context"
	"math"

	"example.org/conclave/internal/rank"
)

// ScoresOf returns the source's scores of a sample of random passages, as hits in the order of the sample. It leaves
// out passages without a score, and returns nil if the source cannot score passages or fails.
func (f *Finding) ScoresOf(ctx context.Context, sample []rank.Ordinal) []rank.Hit {
	if len(sample) == 0 || f.Score == nil {
		return nil
	}
	scores := make([]float32, len(sample))
	if err := f.Score(ctx, sample, scores); err != nil {
		return nil
	}
	hits := make([]rank.Hit, 0, len(sample))
	for i, s := range scores {
		if !math.IsNaN(float64(s)) && s != rank.NoVector {
			hits = append(hits, rank.Hit{Ordinal: sample[i], Score: s})
		}
	}
	return hits
}
