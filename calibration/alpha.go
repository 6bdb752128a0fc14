package calibration

import (
	"context"
	"fmt"

	"example.org/conclave/fusion"
)

// fitAlpha finds the weight of BM25 with which the hybrid's first passage answers most
// often, for all questions, and for each question on the other folds. sharpness is MUF's
// for each question. The grid covers unit vectors (some hundredths) and normalised scores
// (about 1).
func fitAlpha(
	ctx context.Context,
	questions []Question,
	sharpness []float64,
	grid []float64,
) (alpha float64, heldOut []float64, err error) {
	hybrid, _ := fusion.MethodNamed(fusion.MethodHybrid)
	t := tuning{grid: grid, loss: meanOf,
		value: func(i int, alpha float64) (float64, error) {
			r, err := hybrid.Fuse(questions[i].inputOf(hybrid), fusion.Settings{Alpha: alpha, Sharpness: sharpness[i]}, 1)
			return -float64(firstRelevant(r, questions[i].Relevant)), err
		}}
	for _, q := range questions {
		t.ids = append(t.ids, q.ID)
	}
	alpha, heldOut, err = t.fit(ctx)
	if err != nil {
		return 0, nil, fmt.Errorf("the hybrid's weight of BM25: %w", err)
	}
	return alpha, heldOut, nil
}

// alphaGrid returns the grid for the weight of BM25.
func alphaGrid() []float64 { return append([]float64{0}, logarithmic(-3, 1, 6)...) }
