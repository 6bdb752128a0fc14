package calibration

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"conclave/fusion"
	"conclave/rank"
)

// hybrid is a question for which an expert and BM25 found the same passages,
// 0, 1, 2, ..., with these scores.
func hybrid(t *testing.T, id, domain string, dense, lexical []float32, relevant map[rank.Ordinal]float64) HybridQuestion {
	t.Helper()
	lists := make([][]rank.Hit, 2)
	for source, scores := range [][]float32{dense, lexical} {
		for ordinal, score := range scores {
			lists[source] = append(lists[source], rank.Hit{Ordinal: rank.Ordinal(ordinal), Score: score})
		}
		rank.Sort(lists[source])
	}
	q := HybridQuestion{ID: id, Domain: domain, Table: new(fusion.Candidates), Experts: []fusion.Source{{Column: 0, Weight: 1}}, Lexical: 1, Relevant: relevant}
	if err := q.Table.Reset(lists); err != nil {
		t.Fatal(err)
	}
	return q
}

// wins is a question that is right exactly where α is above the threshold
// (below it, with the answers swapped).
func wins(t *testing.T, id, domain string, threshold float32, above bool) HybridQuestion {
	t.Helper()
	relevant := map[rank.Ordinal]float64{0: 1}
	if above {
		relevant = map[rank.Ordinal]float64{1: 1}
	}
	// Passage 0 has threshold + 0·α, passage 1 has 0 + 1·α.
	return hybrid(t, id, domain, []float32{threshold, 0}, []float32{0, 1}, relevant)
}

// TestAlphaByHand: a wants α above 0.2, b above 0.4, c below 0.6, so all are
// right between 0.4 and 0.6; d cannot be helped.
func TestAlphaByHand(t *testing.T) {
	questions := []HybridQuestion{
		wins(t, "a", "x", .2, true), wins(t, "b", "x", .4, true), wins(t, "c", "y", .6, false),
		hybrid(t, "d", "y", []float32{2, 1, 1}, []float32{2, 1, 1}, map[rank.Ordinal]float64{2: 1}),
	}
	fit, err := FitAlpha(t.Context(), questions, AlphaOptions{Grid: []float64{0, .1, .3, .45, .5, .55, .7, .8}})
	if err != nil {
		t.Fatal(err)
	}
	if fit.Alpha != .5 || fit.AtEdge {
		t.Errorf("α is %v (edge %v), want the middle of the plateau, 0.5", fit.Alpha, fit.AtEdge)
	}
	near(t, "accuracy", fit.Value, .75, 1e-12)
	for _, p := range fit.Curve {
		want := 0.0
		for _, right := range []bool{p.X > .2, p.X > .4, p.X < .6} {
			if right {
				want += .25
			}
		}
		near(t, fmt.Sprint("accuracy at ", p.X), p.Value, want, 1e-12)
	}
	// Only golden section reaches between 0.4 and 0.6 here.
	if fit, err = FitAlpha(t.Context(), questions, AlphaOptions{Grid: []float64{0, .35, .9}}); err != nil {
		t.Fatal(err)
	}
	if !(fit.Alpha > .4 && fit.Alpha < .6) || fit.Value != .75 {
		t.Errorf("α is %v with %v, want it between 0.4 and 0.6 with 0.75", fit.Alpha, fit.Value)
	}
}

// TestAlphaBalance: three questions of one domain want a large α, one of
// another a small one, and a second of that does too: the mix is 3 to 2, the
// mean over domains 1 to 1 plus what is shared.
func TestAlphaBalance(t *testing.T) {
	questions := []HybridQuestion{
		wins(t, "a1", "big", .5, true), wins(t, "a2", "big", .5, true), wins(t, "a3", "big", .5, true), wins(t, "a4", "big", .5, false),
		wins(t, "b1", "small", .5, false), wins(t, "b2", "small", .5, false),
	}
	// Above 0.5: mix 3/6, domains (3/4+0)/2. Below: mix 3/6, domains (1/4+1)/2.
	for _, c := range []struct {
		balance      Balance
		below, above float64
	}{{OverQuestions, .5, .5}, {OverDomains, .625, .375}} {
		fit, err := FitAlpha(t.Context(), questions, AlphaOptions{Balance: c.balance, Grid: []float64{.1, .9}})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range fit.Curve {
			want := c.above
			if p.X < .5 {
				want = c.below
			}
			near(t, fmt.Sprint(c.balance, " at ", p.X), p.Value, want, 1e-12)
		}
		if c.balance == OverDomains && fit.Alpha != .1 {
			t.Errorf("α is %v over domains, want 0.1", fit.Alpha)
		}
	}
}

// TestAlphaNDCG is worked out by hand: with BM25 alone in charge the order is
// 1 0 2, with the expert 0 1 2; passage 7, grade 3, is never found.
func TestAlphaNDCG(t *testing.T) {
	relevant := map[rank.Ordinal]float64{1: 2, 2: 1, 7: 3, 0: -1}
	questions := []HybridQuestion{hybrid(t, "a", "", []float32{3, 2, 1}, []float32{2, 9, 1}, relevant), hybrid(t, "b", "", []float32{3, 2, 1}, []float32{2, 9, 1}, nil)}
	questions[1].ID = "q1" // of another fold
	fit, err := FitAlpha(t.Context(), questions, AlphaOptions{Quality: NDCG, Depth: 3, Grid: []float64{0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	ideal := 3 + 2/math.Log2(3) + 1/2.
	if first := fit.Curve[0]; first.X != 0 || math.Abs(first.Value-(2/math.Log2(3)+.5)/ideal/2) > 1e-12 {
		t.Errorf("nDCG without BM25 %v", first)
	}
	near(t, "nDCG", fit.Value, (2+.5)/ideal/2, 1e-12)
	if fit, err = FitAlpha(t.Context(), questions, AlphaOptions{Quality: NDCG, Depth: 1, Grid: []float64{1}}); err != nil {
		t.Fatal(err)
	}
	near(t, "nDCG of the first", fit.Value, 2./3/2, 1e-12)
}

// TestAlphaHeldOut compares with a fit of its own on the other folds.
func TestAlphaHeldOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	var questions []HybridQuestion
	for i := range 60 {
		domain := []string{"x", "y", "z"}[rng.IntN(3)]
		questions = append(questions, wins(t, fmt.Sprint("q", i), domain, float32(.3+.4*rng.Float64()), rng.IntN(2) == 1))
	}
	o := AlphaOptions{Balance: OverDomains, Grid: []float64{0, .2, .35, .45, .5, .55, .6, .65, .8}}
	fit, err := FitAlpha(t.Context(), questions, o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := FitAlpha(t.Context(), questions, o)
	if err != nil || !reflect.DeepEqual(fit, again) {
		t.Errorf("the same questions gave another fit (%v)", err)
	}
	totals, counts, alphas := map[string]float64{}, map[string]float64{}, map[float64]bool{}
	for i, q := range questions {
		var others []HybridQuestion
		for _, other := range questions {
			if Fold(other.ID) != Fold(q.ID) {
				others = append(others, other)
			}
		}
		alone, err := FitAlpha(t.Context(), others, o)
		if err != nil {
			t.Fatal(err)
		}
		alphas[alone.Alpha] = true
		r, err := fusion.Hybrid(q.Table, q.Experts, q.Lexical, fusion.HybridOptions{Alpha: alone.Alpha}, 1)
		if err != nil {
			t.Fatal(err)
		}
		want := min(q.Relevant[r.Items[0].Ordinal], 1)
		near(t, "held-out value of "+q.ID, fit.HeldOutValues[i], want, 1e-12)
		near(t, "held-out α of "+q.ID, fit.Alphas[i], alone.Alpha, 0)
		totals[q.Domain] += want
		counts[q.Domain]++
	}
	if len(alphas) < 2 {
		t.Errorf("every fold has the α %v: the test proves nothing", alphas)
	}
	want := 0.0
	for domain := range totals {
		want += totals[domain] / counts[domain] / 3
	}
	near(t, "held-out mean", fit.HeldOut, want, 1e-12)
}

func TestAlphaRefuses(t *testing.T) {
	good := func() []HybridQuestion {
		return []HybridQuestion{wins(t, "a", "x", .5, true), wins(t, "b", "x", .5, true), wins(t, "c", "x", .5, true), wins(t, "d", "x", .5, true), wins(t, "q1", "x", .5, true)}
	}
	if _, err := FitAlpha(t.Context(), good(), AlphaOptions{}); err != nil {
		t.Fatalf("what is refused below is wrong anyway: %v", err)
	}
	change := func(f func(q *HybridQuestion)) []HybridQuestion {
		all := good()
		f(&all[1])
		return all
	}
	for name, c := range map[string]struct {
		questions []HybridQuestion
		options   AlphaOptions
	}{
		"no questions":   {},
		"no table":       {questions: change(func(q *HybridQuestion) { q.Table = nil })},
		"no lexical":     {questions: change(func(q *HybridQuestion) { q.Lexical = -1 })},
		"no such source": {questions: change(func(q *HybridQuestion) { q.Lexical = 2 })},
		"no domain":      {change(func(q *HybridQuestion) { q.Domain = "" }), AlphaOptions{Balance: OverDomains}},
		"quality":        {good(), AlphaOptions{Quality: "f1"}},
		"balance":        {good(), AlphaOptions{Balance: "macro"}},
		"depth":          {good(), AlphaOptions{Depth: -1}},
		"negative α":     {good(), AlphaOptions{Grid: []float64{-1, 0}}},
		"one fold":       {good()[:1], AlphaOptions{}},
		"a shared table": {slices.Repeat(good()[:1], 2), AlphaOptions{}},
	} {
		if _, err := FitAlpha(t.Context(), c.questions, c.options); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := FitAlpha(cancelled, good(), AlphaOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
