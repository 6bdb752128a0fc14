package calibration

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
)

func TestMinimiseFindsBetweenTheGrid(t *testing.T) {
	for _, target := range []float64{.37, 2.2, 40} {
		calls := 0
		m, err := Minimise(t.Context(), logarithmic(-2, 2, 4), func(x float64) (float64, error) {
			calls++
			return math.Abs(math.Log(x / target)), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		// The bracket spans half a decade; 12 steps leave half a percent of it.
		if math.Abs(m.X/target-1) > .02 || m.AtEdge {
			t.Errorf("minimum at %v (edge %v), want %v", m.X, m.AtEdge, target)
		}
		if calls != 17+goldenSteps || len(m.Seen) != calls {
			t.Errorf("%d calls, %d seen, want %d", calls, len(m.Seen), 17+goldenSteps)
		}
		if !slices.IsSortedFunc(m.Seen, func(a, b Point) int { return int(math.Copysign(1, a.X-b.X)) }) {
			t.Errorf("seen out of order: %v", m.Seen)
		}
	}
}

// TestMinimiseKeepsTheBest: golden section walks into a worse hollow beside a
// spike that only the grid hits.
func TestMinimiseKeepsTheBest(t *testing.T) {
	spike := func(x float64) (float64, error) {
		if x == 2 {
			return -1, nil
		}
		return math.Abs(x - 2.7), nil
	}
	m, err := Minimise(t.Context(), []float64{0, 1, 2, 3, 4}, spike)
	if err != nil || m.X != 2 || m.Value != -1 {
		t.Errorf("minimum %+v (%v), want -1 at 2", m.Point, err)
	}
	// And a hollow that only golden section hits is taken.
	m, err = Minimise(t.Context(), []float64{0, 1, 2, 3, 4}, func(x float64) (float64, error) { return math.Abs(x - 2.4), nil })
	if err != nil || math.Abs(m.X-2.4) > .02 {
		t.Errorf("minimum %+v (%v), want it at 2.4", m.Point, err)
	}
}

func TestMinimisePlateauAndEdges(t *testing.T) {
	grid := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8}
	for name, c := range map[string]struct {
		f      func(x float64) float64
		x      float64
		atEdge bool
	}{
		"the longest run": {func(x float64) float64 {
			if x == 0 || x >= 4 && x <= 6 {
				return 0
			}
			return 1
		}, 5, false},
		"of four, the second": {func(x float64) float64 {
			if x >= 2 && x <= 5 {
				return 0
			}
			return 1
		}, 3, false},
		"a constant": {func(float64) float64 { return 3 }, 4, false},
		"falling":    {func(x float64) float64 { return -x }, 8, true},
		"rising":     {func(x float64) float64 { return x }, 0, true},
	} {
		m, err := Minimise(t.Context(), grid, func(x float64) (float64, error) { return c.f(x), nil })
		if err != nil || m.X != c.x || m.AtEdge != c.atEdge {
			t.Errorf("%s: %v, at an edge %v (%v); want %v, %v", name, m.X, m.AtEdge, err, c.x, c.atEdge)
		}
	}
	m, err := Minimise(t.Context(), []float64{3}, func(x float64) (float64, error) { return x, nil })
	if err != nil || m.X != 3 || len(m.Seen) != 1 || m.AtEdge {
		t.Errorf("a grid of one: %+v (%v)", m, err)
	}
}

func TestMinimiseRefuses(t *testing.T) {
	fine := func(x float64) (float64, error) { return x, nil }
	for _, grid := range [][]float64{nil, {1, 1}, {2, 1}, {math.NaN()}, {0, math.Inf(1)}} {
		if _, err := Minimise(t.Context(), grid, fine); err == nil {
			t.Errorf("the grid %v was accepted", grid)
		}
	}
	if _, err := Minimise(t.Context(), []float64{1}, func(float64) (float64, error) { return math.NaN(), nil }); err == nil {
		t.Error("an objective that is no number was accepted")
	}
	broken := errors.New("broken")
	for failing := range 3 + goldenSteps {
		calls := 0
		_, err := Minimise(t.Context(), []float64{1, 2, 3}, func(x float64) (float64, error) {
			if calls++; calls > failing {
				return 0, broken
			}
			return x, nil
		})
		if !errors.Is(err, broken) {
			t.Errorf("a failure after %d calls: %v", failing, err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Minimise(cancelled, []float64{1}, fine); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
