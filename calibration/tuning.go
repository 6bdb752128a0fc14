package calibration

import (
	"context"
	"fmt"
	"math"
	"slices"

	"example.org/conclave/fusion"
)

// numberFit fits one number to questions, each of which has a value for every number.
type numberFit struct {
	ids   []string  // of the questions
	grid  []float64 // the numbers that are tried first; it ascends
	value func(question int, x float64) (float64, error)
	loss  func(questions []int, values []float64) float64

	known map[float64][]float64 // by number and question; NaN: not yet. All folds ask for the grid's
}

// fitNumber returns the best number for all questions and, for each question, the best one for the questions of the
// other folds. It fails if value does, or ctx ends.
func (t *numberFit) fitNumber(ctx context.Context) (x float64, heldOut []float64, err error) {
	t.known = map[float64][]float64{}
	all := make([]int, len(t.ids))
	for i := range all {
		all[i] = i
	}
	best := func(questions []int) (float64, error) {
		return goldenSection(ctx, t.grid, func(x float64) (float64, error) { return t.lossAt(questions, x) })
	}
	x, err = best(all)
	if err != nil {
		return 0, nil, err
	}
	heldOut, err = crossFit(
		all, func(i *int) string { return t.ids[*i] }, best, func(x float64, _ *int) (float64, error) { return x, nil },
	)
	return x, heldOut, err
}

// lossAt returns the loss of the questions at these indexes with number x. It fails if a value cannot be computed.
func (t *numberFit) lossAt(questions []int, x float64) (float64, error) {
	values, err := t.valuesAt(questions, x)
	if err != nil {
		return 0, err
	}
	return t.loss(questions, values), nil
}

// valuesAt returns the values of the questions at these indexes with number x. Each is computed once. It fails, with
// the id of the question, if a value cannot be computed.
func (t *numberFit) valuesAt(questions []int, x float64) ([]float64, error) {
	known := t.known[x]
	if known == nil {
		known = slices.Repeat([]float64{math.NaN()}, len(t.ids))
		t.known[x] = known
	}
	values := make([]float64, len(questions))
	err := inParallel(len(questions), func(n int) (err error) {
		i := questions[n]
		if math.IsNaN(known[i]) {
			known[i], err = t.value(i, x)
			if err != nil {
				return fmt.Errorf("question %s: %w", t.ids[i], err)
			}
		}
		values[n] = known[i]
		return nil
	})
	return values, err
}

// goldenSteps narrows a bracket to 0.618¹² of it, a third of a percent.
const goldenSteps = 12

// goldenSection finds the number with the lowest loss: on the ascending grid, and then by golden section (Kiefer, 1953)
// between the neighbours of the grid's best. The ECE is not smooth and accuracy moves in steps, so golden section may
// miss the minimum: the result is the lowest loss of all numbers that were tried, and of equal ones that of the grid.
// If several numbers of the grid are equally good, it is the middle of their longest run. It fails if loss does, or ctx
// ends.
func goldenSection(ctx context.Context, grid []float64, loss func(x float64) (float64, error)) (float64, error) {
	var failed error
	at := func(x float64) float64 {
		if failed == nil {
			failed = ctx.Err()
		}
		if failed != nil {
			return 0
		}
		var y float64
		y, failed = loss(x)
		return y
	}
	losses := make([]float64, len(grid))
	for i, x := range grid {
		losses[i] = at(x)
	}
	middle := middleOfLowest(losses)
	best, lowest := grid[middle], losses[middle]
	try := func(x float64) float64 {
		y := at(x)
		if y < lowest {
			best, lowest = x, y
		}
		return y
	}
	low, high := grid[max(middle-1, 0)], grid[min(middle+1, len(grid)-1)]
	ratio := (math.Sqrt(5) - 1) / 2
	left := high - ratio*(high-low)
	right := low + ratio*(high-low)
	atLeft, atRight := try(left), try(right)
	for range goldenSteps - 2 {
		if atLeft <= atRight {
			high, right, atRight = right, left, atLeft
			left = high - ratio*(high-low)
			atLeft = try(left)
		} else {
			low, left, atLeft = left, right, atRight
			right = low + ratio*(high-low)
			atRight = try(right)
		}
	}
	return best, failed
}

// middleOfLowest returns the middle of the longest run of the lowest value; of equally long
// runs, the first.
func middleOfLowest(values []float64) int {
	lowest := slices.Min(values)
	start, length := 0, 0
	for i := 0; i < len(values); {
		j := i
		for j < len(values) && values[j] == lowest {
			j++
		}
		if j-i > length {
			start = i
			length = j - i
		}
		i = max(j, i+1)
	}
	return start + (length-1)/2
}

// logarithmicGrid returns the numbers from 10^from to 10^to with decade points in each factor of ten.
func logarithmicGrid(from, to, decade int) []float64 {
	var grid []float64
	for i := from * decade; i <= to*decade; i++ {
		grid = append(grid, math.Pow(10, float64(i)/float64(decade)))
	}
	return grid
}

// fitAlpha returns the weight of BM25, from the grid or refined between its numbers, with which the hybrid's first
// passage answers most often: alpha over all questions, and heldOut[i] over those of the other folds than question i's.
// sharpness[i] is MUF's sharpness for question i. It fails if a fusion does or ctx ends.
func fitAlpha(
	ctx context.Context,
	questions []Question,
	sharpness []float64,
	grid []float64,
) (alpha float64, heldOut []float64, err error) {
	hybrid, _ := fusion.MethodNamed(fusion.MethodHybrid)
	t := numberFit{grid: grid, loss: meanOf,
		value: func(i int, alpha float64) (float64, error) {
			r, err := hybrid.Fuse(questions[i].inputOf(hybrid), fusion.Settings{Alpha: alpha, Sharpness: sharpness[i]}, 1)
			return -float64(firstRelevant(r, questions[i].Relevant)), err
		}}
	for _, q := range questions {
		t.ids = append(t.ids, q.ID)
	}
	alpha, heldOut, err = t.fitNumber(ctx)
	if err != nil {
		return 0, nil, fmt.Errorf("the hybrid's weight of BM25: %w", err)
	}
	return alpha, heldOut, nil
}

// alphaGrid returns the weights of BM25 that are tried.
func alphaGrid() []float64 { return append([]float64{0}, logarithmicGrid(-3, 1, 6)...) }

// fitSharpness returns the power of the ensembles' confidences with which MUF ranks the answers best (worthOfRank):
// sharpness over all questions, and heldOut[i] over those of the other folds than question i's. With fewer than two
// ensembles there is nothing to weigh: sharpness and all of heldOut are 0. questions must not be empty. It fails if a
// fusion does or ctx ends.
func fitSharpness(
	ctx context.Context,
	questions []Question,
	grid []float64,
) (sharpness float64, heldOut []float64, err error) {
	heldOut = make([]float64, len(questions))
	muf, _ := fusion.MethodNamed(fusion.MethodMUF)
	ensembles := 0
	for _, o := range questions[0].Sources {
		if questions[0].ensembleOf(o.Column).members >= 2 {
			ensembles++
		}
	}
	if ensembles < 2 {
		return 0, heldOut, nil
	}
	t := numberFit{grid: grid, loss: meanOf,
		value: func(i int, sharpness float64) (float64, error) {
			r, err := muf.Fuse(questions[i].inputOf(muf), fusion.Settings{Sharpness: sharpness}, gainDepth)
			return -worthOfRank(firstRelevant(r, questions[i].Relevant)), err
		}}
	for _, q := range questions {
		t.ids = append(t.ids, q.ID)
	}
	sharpness, heldOut, err = t.fitNumber(ctx)
	if err != nil {
		return 0, nil, fmt.Errorf("the sharpness of MUF: %w", err)
	}
	return sharpness, heldOut, nil
}

// gainDepth is the depth of worthOfRank.
const gainDepth = 10

// worthOfRank returns the nDCG@10 of a ranking whose first passage that answers has this rank; 0 for rank 0, which is
// none. Top-1 alone would be best with all the weight on the surest expert, which costs the first twenty
// (docs/evidence/methods.md, "Plain MUF").
func worthOfRank(first int) float64 {
	if first == 0 || first > gainDepth {
		return 0
	}
	return 1 / math.Log2(1+float64(first))
}

// meanOf returns the mean of values: the loss of a tuning whose values are losses.
func meanOf(_ []int, values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// sharpnessGrid returns the sharpnesses that are tried, from nearly the plain sum to nearly the surest expert alone.
func sharpnessGrid() []float64 { return []float64{.25, .5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16} }
