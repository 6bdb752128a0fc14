package calibration

import (
	"context"
	"fmt"
	"math"

	"example.org/conclave/fusion"
)

// fitSharpness finds the power of the ensembles' confidences with which MUF's rankings have
// the highest gain (worthOfRank), for all questions, and for each question on the other
// folds. 0: there are no two ensembles to weigh.
func fitSharpness(
	ctx context.Context,
	questions []Question,
	grid []float64,
) (sharpness float64, heldOut []float64, err error) {
	heldOut = make([]float64, len(questions))
	muf, _ := fusion.MethodNamed(fusion.MethodMUF)
	ensembles := 0
	for _, o := range questions[0].Sources {
		if questions[0].ensemble(o.Column).members >= 2 {
			ensembles++
		}
	}
	if ensembles < 2 {
		return 0, heldOut, nil
	}
	t := tuning{grid: grid, loss: meanOf,
		value: func(i int, sharpness float64) (float64, error) {
			r, err := muf.Fuse(questions[i].inputOf(muf), fusion.Settings{Sharpness: sharpness}, gainDepth)
			return -worthOfRank(firstRelevant(r, questions[i].Relevant)), err
		}}
	for _, q := range questions {
		t.ids = append(t.ids, q.ID)
	}
	sharpness, heldOut, err = t.fit(ctx)
	if err != nil {
		return 0, nil, fmt.Errorf("the sharpness of MUF: %w", err)
	}
	return sharpness, heldOut, nil
}

// gainDepth is the depth of worthOfRank.
const gainDepth = 10

// worthOfRank returns the nDCG@10 of a ranking whose first passage that answers, where there is
// one, is at this rank; 0: at none. Top-1 alone is best where the surest expert has all the
// weight, which costs the first twenty (docs/evidence/methods.md, "Plain MUF").
func worthOfRank(first int) float64 {
	if first == 0 || first > gainDepth {
		return 0
	}
	return 1 / math.Log2(1+float64(first))
}

// meanOf returns the loss of a tuning whose values are losses.
func meanOf(_ []int, values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// sharpnesses returns the grid, from nearly the plain sum to nearly the surest alone.
func sharpnesses() []float64 { return []float64{.25, .5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16} }
