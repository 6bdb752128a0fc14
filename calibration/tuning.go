package calibration

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// tuning is the fit of one number to questions, each of which has a value under every
// number.
type tuning struct {
	ids   []string  // of the questions
	grid  []float64 // the numbers that are tried first; it ascends
	value func(question int, x float64) (float64, error)
	loss  func(questions []int, values []float64) float64

	known map[float64][]float64 // by number and question; NaN: not yet. All folds ask for the grid's
}

// fit finds the number for all questions, and for each question the one that is best
// for the questions of the other folds.
func (t *tuning) fit(ctx context.Context) (x float64, heldOut []float64, err error) {
	t.known = map[float64][]float64{}
	all := make([]int, len(t.ids))
	for i := range all {
		all[i] = i
	}
	best := func(questions []int) (float64, error) {
		return minimise(ctx, t.grid, func(x float64) (float64, error) { return t.lossAt(questions, x) })
	}
	x, err = best(all)
	if err != nil {
		return 0, nil, err
	}
	heldOut, err = crossFit(
		all,
		func(i *int) string { return t.ids[*i] },
		best,
		func(x float64, _ *int) (float64, error) { return x, nil },
	)
	return x, heldOut, err
}

// lossAt returns the loss of a value for some of the questions.
func (t *tuning) lossAt(questions []int, x float64) (float64, error) {
	values, err := t.values(questions, x)
	if err != nil {
		return 0, err
	}
	return t.loss(questions, values), nil
}

// values returns those of some of the questions.
func (t *tuning) values(questions []int, x float64) ([]float64, error) {
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

// minimise finds the number with the lowest loss: on the ascending grid, and then by golden
// section (Kiefer, 1953) between the neighbours of the grid's best. The ECE is not smooth
// and accuracy moves in steps, so golden section may miss the minimum: the result is the
// lowest loss of all numbers that were tried, and of equal ones that of the grid. If
// several numbers of the grid are equally good, it is the middle of their longest run.
func minimise(ctx context.Context, grid []float64, loss func(x float64) (float64, error)) (float64, error) {
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

// logarithmic returns a grid from 10^from to 10^to with so many points a decade.
func logarithmic(from, to, decade int) []float64 {
	var grid []float64
	for i := from * decade; i <= to*decade; i++ {
		grid = append(grid, math.Pow(10, float64(i)/float64(decade)))
	}
	return grid
}
