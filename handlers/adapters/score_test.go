package adapters

import (
	"math"
	"testing"

	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/search/reply"

	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	testenv.SameDraws()
	m.Run()
}

func answerOf(confidence, any *float64, fused ...float64) (r reply.Response) {
	r.Confidence, r.Any = confidence, any
	for _, x := range fused {
		r.Results = append(r.Results, reply.Result{Score: x})
	}
	return r
}

// TestScoresByHand: 0.2 is shared as e⁻¹ to e⁻², which is 0.731 to 0.269, for scores that
// are a tenth apart.
func TestScoresByHand(t *testing.T) {
	half, most := .5, .7
	for name, c := range map[string]struct {
		answer reply.Response
		want   []float64
	}{
		"nothing":          {answerOf(&half, &most), nil},
		"one":              {answerOf(&half, nil, 3), []float64{.5}},
		"three":            {answerOf(&half, &most, 3, 2, 1.9), []float64{.5, .14621, .05379}},
		"any not known":    {answerOf(&half, nil, 3, 2), []float64{.5, 0}},
		"not known":        {answerOf(nil, nil, 4, 3, -1), []float64{1, .75, 0}},
		"not above 0":      {answerOf(nil, nil, 0, -1), []float64{1, 1}},
		"none of many":     {answerOf(ptr(0.), ptr(.9), 2, 1, 0), []float64{0, 0, 0}},
		"any below by bad": {answerOf(&most, &half, 2, 1), []float64{.7, 0}},
	} {
		got := probabilities(c.answer)
		if len(got) != len(c.want) {
			t.Fatalf("%s: %v", name, got)
		}
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 1e-5 {
				t.Errorf("%s: %v, want %v", name, got, c.want)
				break
			}
		}
	}
}

func ptr[T any](x T) *T { return &x }

// TestScores: from 0 to 1, in the order of the results, and together at most the chance
// of any.
func TestScores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		confidence := rapid.Float64Range(0, 1).Draw(t, "confidence")
		any := rapid.Float64Range(confidence, 1).Draw(t, "any")
		fused := []float64{rapid.Float64Range(-50, 50).Draw(t, "first")}
		for range rapid.IntRange(0, 20).Draw(t, "n") {
			fused = append(fused, fused[len(fused)-1]-rapid.Float64Range(0, 9).Draw(t, "lead"))
		}
		r := answerOf(&confidence, &any, fused...)
		if rapid.Bool().Draw(t, "unknown") {
			r.Confidence, r.Any = nil, nil
		}
		sum, last := 0.0, 1.0
		for _, x := range probabilities(r) {
			if x < 0 || x > last {
				t.Fatalf("%v after %v", x, last)
			}
			sum = sum + x
			last = x
		}
		if r.Confidence != nil && sum > any+1e-9 {
			t.Fatalf("%v, more than %v", sum, any)
		}
		most, threshold := rapid.IntRange(1, 20).Draw(t, "most"), rapid.Float64Range(0, 1).Draw(t, "threshold")
		results, some := resultsAbove(r, most, threshold)
		if len(results) != len(some) || len(some) > most || len(some) > 0 && some[len(some)-1] < threshold ||
			len(some) < min(most, len(fused)) && probabilities(r)[len(some)] >= threshold {
			t.Fatalf("%d of %d at %v: %v of %v", most, len(fused), threshold, some, probabilities(r))
		}
	})
}
