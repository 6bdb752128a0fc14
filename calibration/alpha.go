package calibration

import (
	"context"
	"fmt"

	"conclave/fusion"
)

// fitAlpha finds the weight of BM25 with which the hybrid's first passage answers most
// often, for all questions, and for each question on the other folds. The grid covers unit
// vectors (some hundredths) and normalised scores (about 1).
func fitAlpha(ctx context.Context, questions []Question, grid []float64) (alpha float64, heldOut []float64, err error) {
	hybrid, _ := fusion.MethodNamed(fusion.MethodHybrid)
	t := tuning{grid: grid,
		value: func(i int, alpha float64) (float64, error) {
			r, err := hybrid.Fuse(questions[i].inputOf(hybrid), fusion.Settings{Alpha: alpha}, 1)
			return -float64(firstRelevant(r, questions[i].Relevant)), err
		},
		loss: func(_ []int, values []float64) float64 {
			sum := 0.0
			for _, v := range values {
				sum += v
			}
			return sum / float64(len(values))
		}}
	for _, q := range questions {
		t.ids = append(t.ids, q.ID)
	}
	if alpha, heldOut, err = t.fit(ctx); err != nil {
		return 0, nil, fmt.Errorf("the hybrid's weight of BM25: %w", err)
	}
	return alpha, heldOut, nil
}

// alphas is the grid for the weight of BM25.
func alphas() []float64 { return append([]float64{0}, logarithmic(-3, 1, 6)...) }
