package answering

import (
	"math"
	"testing"
)

// TestRerankChanceByHand: two passages with the scores 1 and 0, the first of which answers with the probability .6, and
// any of them with .8: its share is 3 of 4, so that β is log 3. A reranker that says 1 of it makes that 9 of 10, and
// one that says as much of the other makes both equal.
func TestRerankChanceByHand(t *testing.T) {
	for _, c := range []struct {
		said []float64
		want float64
	}{
		{[]float64{0, 0}, .6},
		{[]float64{1, 0}, .8 * 9 / 10},
		{[]float64{0, 1}, .8 / 2},
		{[]float64{0, 3}, .8 * 9 / 10},
		{[]float64{-5, 0}, .8 * 81 / 82}, // the other is ahead by 4
	} {
		if got := RerankChance([]float64{1, 0}, c.said, 1, .6, .8); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("said %v: %v, want %v", c.said, got, c.want)
		}
	}
	for _, c := range []struct{ first, any, want float64 }{{0, 0, 0}, {1, 1, 1}, {.3, .2, .3}} {
		if got := RerankChance([]float64{1, 0}, []float64{1, 0}, 1, c.first, c.any); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%+v: %v", c, got)
		}
	}
	// Equal scores, and one passage alone.
	if got := RerankChance([]float64{2, 2}, []float64{0, 0}, 1, .4, .8); math.Abs(got-.4) > 1e-9 {
		t.Errorf("equal ones: %v", got)
	}
	if got := RerankChance([]float64{2}, []float64{7}, 1, .4, .8); math.Abs(got-.8) > 1e-9 {
		t.Errorf("one alone: %v", got)
	}
}
