package sources

import (
	"context"
	"math"

	"example.org/conclave/internal/rank"
)

// ScoresOf returns the source's scores of passages that were sampled without the question. It returns nil if the
// source cannot score passages or fails; passages without a score are left out.
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
		if !math.IsNaN(float64(s)) {
			hits = append(hits, rank.Hit{Ordinal: sample[i], Score: s})
		}
	}
	return hits
}
