package fusion

import (
	"math"
	"testing"

	"example.org/conclave/internal/rank"
)

// randomScores returns scores of n random passages from an ordinal on, half of them low and half of them high, so that
// their mean is in the middle and their standard deviation half the difference.
func randomScores(from, n int, low, high float32) (out []rank.Hit) {
	for i := range n {
		out = append(out, rank.Hit{Ordinal: rank.Ordinal(from + i), Score: []float32{low, high}[i%2]})
	}
	return out
}

// TestEstimateByHand: source 0 reads passages below 100 alone, 1 reads all, and 2 follows and reads as 0. What 0 and 2
// lack is as many deviations above what they score at random as 1 is above random passages that 0 and 2 do not read.
func TestEstimateByHand(t *testing.T) {
	c := table(t,
		[]rank.Hit{{Ordinal: 1, Score: 5}},
		[]rank.Hit{{Ordinal: 150, Score: .9}, {Ordinal: 1, Score: .8}, {Ordinal: 160, Score: .65}},
		nil)
	complete := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	complete(c.Complete(0, []float32{rank.NoVector, rank.NoVector}))
	complete(c.Follow(2, []float32{30, rank.NoVector, rank.NoVector}))
	own, tokens := randomScores(20, 40, 1, 3), randomScores(20, 40, 10, 20)
	other := append(randomScores(20, 40, .4, .6), randomScores(120, 40, .6, .8)...) // .5 ± .1 and .7 ± .1
	c.Estimate([]Scale{{0, own}, {1, other}, {2, tokens}})
	for ordinal, want := range map[rank.Ordinal][2]float64{
		1: {5, 30}, 150: {2 + 2, 15 + 2*5}, 160: {2 - .5, 15 - .5*5},
	} {
		for i, column := range []int{0, 2} {
			if got := c.scoreOf(column, ordinal); math.Abs(got-want[i]) > 1e-4 {
				t.Errorf("passage %d scores %v by source %d, by hand %v", ordinal, got, column, want[i])
			}
		}
	}
	r, err := Sum(c, []Source{{0, 1}, {1, 1}, {2, 1}}, LinearOptions{}, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range r.Items {
		if from := item.Parts[0].Origin; (from == FromEstimate) != (item.Ordinal >= 100) || item.Parts[0].Contribution == 0 {
			t.Errorf("passage %d has the origin %v and %+v", item.Ordinal, from, item.Parts[0])
		}
	}
	sources := []ObservedSource{
		{Column: 0, Kind: Base}, {Column: 1, Kind: Generalist, Foreign: true}, {Column: 2, Kind: Late},
	}
	for ordinal, want := range map[rank.Ordinal]bool{1: false, 150: true, 7: false} {
		if got := c.IsEstimated(sources, ordinal); got != want {
			t.Errorf("the scores of passage %d are estimates: %t", ordinal, got)
		}
	}
}

// TestEstimateWithFewRandom: by too few random passages that a source scores nothing is estimated; if too few have no
// vector of it, a source is compared with all random passages.
func TestEstimateWithFewRandom(t *testing.T) {
	for name, x := range map[string]struct {
		own, other []rank.Hit
		want       float64
		origin     Origin
	}{
		"few of its own": {randomScores(20, LeastRandom-2, 1, 3), randomScores(20, 60, .4, .6), 0, FromNone},
		"few others": {
			randomScores(20, 40, 1, 3), append(randomScores(20, 40, .4, .6), randomScores(120, 2, .4, .6)...), 2 + 4,
			FromEstimate,
		},
		"none of the other": {randomScores(20, 40, 1, 3), nil, 2, FromEstimate},
	} {
		c := table(t, []rank.Hit{{Ordinal: 1, Score: 5}}, []rank.Hit{{Ordinal: 150, Score: .9}})
		if err := c.Complete(0, []float32{rank.NoVector}); err != nil {
			t.Fatal(err)
		}
		c.Estimate([]Scale{{0, x.own}, {1, x.other}})
		if got := c.cellAt(1, 0); got.origin != x.origin || math.Abs(float64(got.score)-x.want) > 1e-4 {
			t.Errorf("%s: %+v, want %v", name, *got, x.want)
		}
		if got := c.cellAt(0, 1); got.origin != FromNone {
			t.Errorf("%s: source 1 misses random passages or was not asked, and has %+v", name, *got)
		}
	}
}
