package calibration

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
)

// followed gives a question late interaction as one source more, with a score for
// each row, and lets every other source find only half of the passages.
func followed(t *testing.T, q *Question, score func(rank.Ordinal) float32) {
	t.Helper()
	n := q.Table.Sources()
	lists := make([][]rank.Hit, n+1)
	own := map[rank.Ordinal][]float64{}
	q.Table.Each(fusion.Exact, func(row int, scores []float64) {
		o := q.Table.Ordinal(row)
		own[o] = slices.Clone(scores)
		for s, x := range scores {
			lists[s] = append(lists[s], rank.Hit{Ordinal: o, Score: float32(x)})
		}
	})
	for s := range n {
		rank.Sort(lists[s])
		lists[s] = lists[s][:len(lists[s])/2]
	}
	table := new(fusion.Candidates)
	if err := table.Reset(lists); err != nil {
		t.Fatal(err)
	}
	for s := range n {
		var missing []float32
		for _, o := range table.Missing(s, nil) {
			missing = append(missing, float32(own[o][s]))
		}
		if err := table.Complete(s, missing); err != nil {
			t.Fatal(err)
		}
	}
	var late []float32
	for _, o := range table.Missing(n, nil) {
		late = append(late, score(o))
	}
	if err := table.Follow(n, late); err != nil {
		t.Fatal(err)
	}
	q.Table = table
	q.Sources = append(q.Sources, fusion.ObservedSource{Column: n, Kind: fusion.Late, Confidence: -1})
}

// TestGateFindsLate: where late interaction knows the answer the fit listens to
// it, where it is noise hardly, and without it the gate says nothing of it.
func TestGateFindsLate(t *testing.T) {
	fitted := func(useful float32) (accuracy float64, gate fusion.Gate) {
		random := rand.New(rand.NewPCG(6, 6))
		questions := planted(t, 300, 6)
		for i := range questions {
			q := &questions[i]
			followed(t, q, func(o rank.Ordinal) float32 { return random.Float32()*.3 + useful*float32(q.Relevant[o]) })
		}
		answers, err := holdOutGate(context.Background(), questions, GateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		fit, err := FitGate(context.Background(), questions, GateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return Accuracy(answers, 1), fit
	}
	with, gate := fitted(.25)
	noise, _ := fitted(0)
	t.Logf("top-1 %.3f where it knows, %.3f where it is noise", with, noise)
	if with < noise+.1 || len(gate.Late) != len(fusion.LateFeatureNames()) {
		t.Errorf("top-1 %.3f with late interaction that knows, %.3f with noise; %d coefficients", with, noise, len(gate.Late))
	}
	fit, err := FitGate(context.Background(), planted(t, 50, 5), GateOptions{})
	if err != nil || fit.Late != nil || fit.Tokens != 0 {
		t.Errorf("a gate fitted without late interaction: %+v (%v)", fit, err)
	}
}

// TestLateOfFewSpecialists: with fewer specialists, late interaction is what it
// would be if the others had never been asked: what they alone found is no
// candidate, and does not show in its features.
func TestLateOfFewSpecialists(t *testing.T) {
	questions := planted(t, 80, 5)
	random := rand.New(rand.NewPCG(8, 8))
	first := 0 // questions with a passage that the first specialist alone found
	for i := range questions {
		q := &questions[i]
		followed(t, q, func(rank.Ordinal) float32 { return random.Float32() })
		for row := range q.Table.Len() {
			if q.Table.BestRank(row, []int{1, 2, 3}) == 0 {
				first++
				break
			}
		}
	}
	if first == 0 {
		t.Fatal("no passage was found by one specialist alone")
	}
	nearestAlone(t, questions)
}
