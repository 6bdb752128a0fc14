package calibration

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Point is a parameter's value and what the objective was there.
type Point struct {
	X     float64 `json:"x"`
	Value float64 `json:"value"`
}

// Minimum is the best point that was seen.
type Minimum struct {
	Point
	// AtEdge says that it is at an end of the grid, so that the true one may
	// lie beyond.
	AtEdge bool
	Seen   []Point // every point, in the order of X
}

// goldenSteps narrows a bracket to 0.618¹² of it, a third of a percent.
const goldenSteps = 12

// Minimise looks for the lowest value of the objective: on the grid, which
// ascends, and then by golden section between the neighbours of the grid's
// best point. The ECE is not smooth and accuracy moves in steps, so golden
// section may be led astray: the answer is the lowest of all values seen, and
// of equal ones the grid's. Where several grid points are equally good, the
// middle of the longest run of them is taken, far from where it gets worse.
func Minimise(ctx context.Context, grid []float64, objective func(x float64) (float64, error)) (Minimum, error) {
	var m Minimum
	if len(grid) == 0 {
		return m, fmt.Errorf("there is nothing to search: the grid is empty")
	}
	for i, x := range grid {
		if math.IsNaN(x) || math.IsInf(x, 0) || i > 0 && x <= grid[i-1] {
			return m, fmt.Errorf("the grid must hold ascending numbers: %v is at %d of %d", x, i+1, len(grid))
		}
	}
	at := func(x float64) (float64, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		value, err := objective(x)
		if err == nil && (math.IsNaN(value) || math.IsInf(value, 0)) {
			err = fmt.Errorf("the objective is %v", value)
		}
		if err != nil {
			return 0, fmt.Errorf("at %v: %w", x, err)
		}
		m.Seen = append(m.Seen, Point{x, value})
		return value, nil
	}
	for _, x := range grid {
		if _, err := at(x); err != nil {
			return m, err
		}
	}
	best := middleOfBest(m.Seen)
	m.Point = m.Seen[best]

	low, high := grid[max(best-1, 0)], grid[min(best+1, len(grid)-1)]
	if err := goldenSection(low, high, at); err != nil {
		return m, err
	}
	for _, p := range m.Seen[len(grid):] {
		if p.Value < m.Value {
			m.Point = p
		}
	}
	m.AtEdge = len(grid) > 1 && (m.X == grid[0] || m.X == grid[len(grid)-1])
	slices.SortFunc(m.Seen, func(a, b Point) int {
		switch {
		case a.X < b.X:
			return -1
		case a.X > b.X:
			return 1
		}
		return 0
	})
	return m, nil
}

// middleOfBest is the middle of the longest run of points with the lowest
// value; of equally long runs, the first.
func middleOfBest(points []Point) int {
	lowest := points[0].Value
	for _, p := range points {
		lowest = min(lowest, p.Value)
	}
	start, length := 0, 0
	for i := 0; i < len(points); {
		j := i
		for j < len(points) && points[j].Value == lowest {
			j++
		}
		if j-i > length {
			start, length = i, j-i
		}
		i = max(j, i+1)
	}
	return start + (length-1)/2
}

// goldenSection narrows [low, high] towards a minimum (Kiefer, 1953). The
// caller looks at every value that at was asked for.
func goldenSection(low, high float64, at func(float64) (float64, error)) error {
	if !(low < high) {
		return nil
	}
	ratio := (math.Sqrt(5) - 1) / 2
	left, right := high-ratio*(high-low), low+ratio*(high-low)
	atLeft, err := at(left)
	if err != nil {
		return err
	}
	atRight, err := at(right)
	if err != nil {
		return err
	}
	for range goldenSteps - 2 {
		if atLeft <= atRight {
			high, right, atRight = right, left, atLeft
			left = high - ratio*(high-low)
			atLeft, err = at(left)
		} else {
			low, left, atLeft = left, right, atRight
			right = low + ratio*(high-low)
			atRight, err = at(right)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// logarithmic is a grid from 10^from to 10^to with so many points a decade.
func logarithmic(from, to, decade int) []float64 {
	var grid []float64
	for i := from * decade; i <= to*decade; i++ {
		grid = append(grid, math.Pow(10, float64(i)/float64(decade)))
	}
	return grid
}
