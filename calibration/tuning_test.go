package calibration

import (
	"context"
	"errors"
	"math"
	"testing"
)

func TestMinimiseFindsBetweenTheGrid(t *testing.T) {
	for _, target := range []float64{.37, 2.2, 40} {
		calls := 0
		x, err := minimise(t.Context(), logarithmic(-2, 2, 4), func(x float64) (float64, error) {
			calls++
			return math.Abs(math.Log(x / target)), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		// The bracket spans half a decade; 12 steps leave half a percent of it.
		if math.Abs(x/target-1) > .02 || calls != 17+goldenSteps {
			t.Errorf("minimum at %v after %d calls, want %v after %d", x, calls, target, 17+goldenSteps)
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
	grid := []float64{0, 1, 2, 3, 4}
	if x, err := minimise(t.Context(), grid, spike); err != nil || x != 2 {
		t.Errorf("minimum at %v (%v), want 2", x, err)
	}
	// And a hollow that only golden section hits is taken.
	if x, err := minimise(t.Context(), grid, func(x float64) (float64, error) {
		return math.Abs(x - 2.4),
			nil
	}); err != nil ||
		math.Abs(x-2.4) > .02 {
		t.Errorf("minimum at %v (%v), want 2.4", x, err)
	}
}

func TestMinimisePlateauAndEdges(t *testing.T) {
	grid := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8}
	level := func(is func(x float64) bool) func(x float64) float64 {
		return func(x float64) float64 {
			if is(x) {
				return 0
			}
			return 1
		}
	}
	for name, c := range map[string]struct {
		f func(x float64) float64
		x float64
	}{
		"the longest run":     {level(func(x float64) bool { return x == 0 || x >= 4 && x <= 6 }), 5},
		"of four, the second": {level(func(x float64) bool { return x >= 2 && x <= 5 }), 3},
		"a constant":          {func(float64) float64 { return 3 }, 4},
		"falling":             {func(x float64) float64 { return -x }, 8},
		"rising":              {func(x float64) float64 { return x }, 0},
	} {
		if x, err := minimise(t.Context(), grid, func(x float64) (float64, error) { return c.f(x), nil }); err != nil ||
			x != c.x {
			t.Errorf("%s: %v (%v); want %v", name, x, err, c.x)
		}
	}
	if x, err := minimise(t.Context(), []float64{3}, func(x float64) (float64, error) { return x, nil }); err != nil ||
		x != 3 {
		t.Errorf("a grid of one: %v (%v)", x, err)
	}
	broken := errors.New("broken")
	for failing := range 3 + goldenSteps {
		calls := 0
		_, err := minimise(t.Context(), []float64{1, 2, 3}, func(x float64) (float64, error) {
			if calls++; calls > failing {
				return 0, broken
			}
			return x, nil
		})
		if !errors.Is(err, broken) || calls > failing+1 {
			t.Errorf("a failure after %d calls: %v, %d calls", failing, err, calls)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := minimise(cancelled, grid, func(x float64) (float64, error) { return x, nil }); !errors.Is(
		err,
		context.Canceled,
	) {
		t.Errorf("cancelled: %v", err)
	}
}
