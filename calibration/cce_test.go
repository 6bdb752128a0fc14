package calibration

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
)

// Worked out by hand: bins .3 (.35 right not, .33 right) and .7 (.72 right, .78 not) and
// 1 (right): 2/5·|.34-.5| + 2/5·|.75-.5| + 0 = .064 + .1.
func TestECEOfBins(t *testing.T) {
	var outcomes []Outcome
	for i, c := range []float64{.35, .33, .72, .78, 1} {
		outcomes = append(outcomes, Outcome{Confidence: c, Correct: []bool{false, true, true, false, true}[i]})
	}
	if got := ECE(outcomes); math.Abs(got-.164) > 1e-12 {
		t.Errorf("ECE %.9f, want .164", got)
	}
}

// asked returns questions of two granularities with gaps that say how likely they are
// right: at temperature true, the probability of the first of two scores is the chance.
func asked(n int, temperature float64) []granularScores {
	r := rand.New(rand.NewPCG(19, 83))
	out := make([]granularScores, n)
	for i := range out {
		out[i].id = fmt.Sprint("q", i)
		for range 2 {
			gap := r.ExpFloat64() * 2 * temperature
			chance := 1 / (1 + math.Exp(-gap/temperature))
			out[i].scores = append(out[i].scores, []float64{.8, .8 - gap})
			out[i].right = append(out[i].right, r.Float64() < chance)
		}
	}
	return out
}

// The temperature by which the outcomes were drawn is found again.
func TestFitCCETemperature(t *testing.T) {
	for _, want := range []float64{.02, .075, .5} {
		questions := asked(4000, want)
		m, err := fitCCE(context.Background(), questions, mostGranularities)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(math.Log(m.temperature/want)) > .2 {
			t.Errorf("temperature %.4f, want about %.4f", m.temperature, want)
		}
		if e := ECE(outcomesAt(questions, m.temperature)); e > .03 {
			t.Errorf("ECE %.3f at temperature %.4f", e, m.temperature)
		}
	}
}

// Of four granularities the three that are right most often are taken, the best first.
func TestFitCCEChooses(t *testing.T) {
	questions := make([]granularScores, 100)
	for i := range questions {
		questions[i] = granularScores{
			id:     fmt.Sprint(i),
			scores: [][]float64{{2, 1}, {2, 1}, {2, 1}, {2, 1}},
			right:  []bool{i < 30, i < 50, i < 10, i < 40},
		}
	}
	m, err := fitCCE(context.Background(), questions, mostGranularities)
	if err != nil || !slices.Equal(m.chosen, []int{1, 3, 0}) {
		t.Errorf("%v were chosen (%v), want [1 3 0]", m.chosen, err)
	}
}

// What calibration measures cce by is what it will rank by: the granularities that were
// chosen on the other folds, by their own temperature.
func TestCompareRanksByChosen(t *testing.T) {
	f := &fitRun{record: &Record{CCE: &CCERecord{}}, Evidence: &Evidence{}, surest: map[string]CCEFit{}}
	for i := range 10 {
		q := Question{ID: fmt.Sprint(i), Table: new(fusion.Candidates), Relevant: map[rank.Ordinal]float64{1: 1}}
		wrong, right := []rank.Hit{
			{Ordinal: 0, Score: .9},
			{Ordinal: 1, Score: .1},
		}, []rank.Hit{
			{Ordinal: 1, Score: .6},
			{Ordinal: 0, Score: .5},
		}
		if err := q.Table.Reset([][]rank.Hit{wrong, right}); err != nil {
			t.Fatal(err)
		}
		q.Sources = []fusion.ObservedSource{
			{Column: 0, Kind: fusion.Base, Granular: true},
			{Column: 1, Kind: fusion.Generalist, Granular: true},
		}
		f.Questions = append(f.Questions, q)
		f.surest[q.ID] = CCEFit{Columns: []int{1}, Temperature: .1}
	}
	if err := f.compareMethods(nil); err != nil {
		t.Fatal(err)
	}
	for _, m := range f.methods {
		if m.method != fusion.MethodCCE {
			continue
		}
		for _, a := range m.answers {
			if a.First != 1 {
				t.Fatalf("the answer is at place %d: a granularity that was not chosen, and is surer, ranks", a.First)
			}
		}
		return
	}
	t.Error("cce was not measured")
}
