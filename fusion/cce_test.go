package fusion

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.org/conclave/internal/rank"
)

// Probabilities and slopes worked out by hand (softmax of three scores).
func TestTopProbability(t *testing.T) {
	for _, c := range []struct {
		scores               []float64
		temperature, p, want float64 // want: the slope; NaN: not worked out
	}{
		{[]float64{7, 6.9, 6}, .1, .731034316, -1.968415051},
		{[]float64{7.2, 7.19, 7.18}, .1, .367165401, -.342728416},
		{[]float64{5, 4, 3}, .1, .999954600, -.004539993},
		{[]float64{7, 6.9, 6}, 1, .440002016, math.NaN()},
		{[]float64{7.2, 7.19, 7.18}, 1, .336672167, math.NaN()},
		{[]float64{5, 4, 3}, 1, .665240956, math.NaN()},
		{[]float64{4}, .1, 1, 0},
		{nil, .1, 0, 0},
		{[]float64{80, 0}, 1e-3, 1, 0},              // no overflow, which the paper suspects below 0.1
		{[]float64{1e6, 1e6}, 1e-300, .5, 0},        // nor here
		{[]float64{.5, .4, .3}, 1e9, 1. / 3, 0},     // a high temperature: all alike
		{[]float64{.5, .5, -1e30}, 1e-3, 1. / 2, 0}, // two that tie
	} {
		p, slope := TopProbability(c.scores, c.temperature)
		if math.Abs(p-c.p) > 5e-10 || !math.IsNaN(c.want) && math.Abs(slope-c.want) > 5e-9 {
			t.Errorf("of %v at %g: %.9f with slope %.9f, want %.9f with %.9f", c.scores, c.temperature, p, slope, c.p, c.want)
		}
	}
}

// The slope is that of the probability: the difference quotient says so.
func TestTopProbabilitySlope(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 3))
	for range 200 {
		scores := make([]float64, 1+r.IntN(30))
		for i := range scores {
			scores[i] = r.Float64()
		}
		slices.SortFunc(scores, func(a, b float64) int { return int(math.Copysign(1, b-a)) })
		temperature := math.Exp(r.Float64()*4 - 4)
		h := temperature * 1e-5
		above, _ := TopProbability(scores, temperature+h)
		below, _ := TopProbability(scores, temperature-h)
		_, slope := TopProbability(scores, temperature)
		if want := (above - below) / (2 * h); math.Abs(slope-want) > 1e-5*max(1, math.Abs(want)) || slope > 0 {
			t.Fatalf("slope %g at %g, the difference quotient is %g", slope, temperature, want)
		}
	}
}

// The three lists of the hand-worked probabilities: the surest is the third, .99995.
func granularities(t *testing.T) *Candidates {
	return table(t, letters(t, "abc", 7, 6.9, 6), letters(t, "bac", 7.2, 7.19, 7.18), letters(t, "cba", 5, 4, 3))
}

func TestCCE(t *testing.T) {
	r, err := CCE(granularities(t), []int{0, 1, 2}, CCEOptions{}, Exact, 3)
	wantRanking(t, r, err, "cba", 5, 4, 3)
	if math.Abs(*r.Confidence-.9999546) > 5e-8 || r.Weights[0] != 0 || r.Weights[2] != 1 {
		t.Errorf("confidence %v, weights %v", *r.Confidence, r.Weights)
	}
	// Without it the first is: .7310 and .3672.
	r, err = CCE(granularities(t), []int{0, 1}, CCEOptions{}, Exact, 2)
	wantRanking(t, r, err, "ab", 7, 6.9)
	// At 1 it is the third again, at .6652 beside .4400 and .3367.
	r, err = CCE(granularities(t), []int{0, 1, 2}, CCEOptions{Temperature: 1}, Exact, 1)
	wantRanking(t, r, err, "c", 5)
	if math.Abs(*r.Confidence-.665240956) > 5e-10 {
		t.Errorf("confidence %v", *r.Confidence)
	}
	// Over two hits at T 1: 1/(1+exp(-.1)) = .52498, 1/(1+exp(-.01)) = .50250, and
	// 1/(1+exp(-1)) = .73106.
	r, err = CCE(granularities(t), []int{0, 1, 2}, CCEOptions{Temperature: 1, Depth: 2}, Exact, 1)
	wantRanking(t, r, err, "c", 5)
	if math.Abs(*r.Confidence-.731058579) > 5e-9 {
		t.Errorf("confidence %v", *r.Confidence)
	}
}

// The weighted sum, by hand at T 1: weights .440002016, .336672167 and .665240956 over
// their sum, 1.441915139: .305151, .233490, .461359.
// a 7·.305151 + 7.19·.233490 + 3·.461359 = 5.198928
// b 6.9·.305151 + 7.2·.233490 + 4·.461359 = 5.632107
// c 6·.305151 + 7.18·.233490 + 5·.461359 = 5.814161
func TestCCESum(t *testing.T) {
	r, err := CCE(granularities(t), []int{0, 1, 2}, CCEOptions{Temperature: 1, Sharpness: 1}, Exact, 3)
	wantRanking(t, r, err, "cba")
	for i, want := range []float64{5.814161, 5.632107, 5.198928} {
		if math.Abs(r.Items[i].Score-want) > 5e-6 {
			t.Errorf("rank %d: %.6f, want %.6f", i+1, r.Items[i].Score, want)
		}
	}
}

func TestCCERefuses(t *testing.T) {
	for _, o := range []CCEOptions{{Temperature: -1}, {Temperature: math.NaN()}, {Temperature: math.Inf(1)}, {Depth: -1},
		{Sharpness: -1}} {
		if _, err := CCE(granularities(t), []int{0, 1}, o, Exact, 1); err == nil {
			t.Errorf("%+v was not refused", o)
		}
	}
	if _, err := CCE(granularities(t), []int{0, 0}, CCEOptions{}, Exact, 1); err == nil {
		t.Error("one granularity twice was not refused")
	}
	if r, err := CCE(granularities(t), nil, CCEOptions{}, Exact, 1); err != nil || len(r.Items) > 0 {
		t.Errorf("of no granularities: %v, %v", r, err)
	}
}

// Scores that were fetched, and hits beyond the depth, change no confidence.
func TestCCEDepth(t *testing.T) {
	c := table(t, letters(t, "abc", .9, .8, .1), []rank.Hit{{Ordinal: 3, Score: .7}})
	before, err := CCE(c, []int{0, 1}, CCEOptions{Depth: 2}, Exact, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Complete(0, []float32{.95}); err != nil { // of d
		t.Fatal(err)
	}
	after, err := CCE(c, []int{0, 1}, CCEOptions{Depth: 2}, Exact, 1)
	if err != nil || *before.Confidence != *after.Confidence || before.Items[0].Ordinal != after.Items[0].Ordinal {
		t.Errorf("%v and %v, %v", *before.Confidence, *after.Confidence, err)
	}
}
