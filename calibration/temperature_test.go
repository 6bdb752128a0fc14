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
)

// TestTemperatureByHand: three members and the logits of the authors' example
// B, whose confidence at τ = 1 is 0.372543039 and at τ = 10 0.959063816, and
// of C, 0.777308904 and 0.973248630.
func TestTemperatureByHand(t *testing.T) {
	b := []float32{80, 79.5, 70, 60, 79, 81, 70, 60, 70, 71, 75, 60}
	c := []float32{80, 79.5, 70, 60, 80, 81, 70, 60, 80, 71, 75, 60}
	questions := []EnsembleQuestion{
		{ID: "1", Scores: b, Members: 3}, {ID: "2", Scores: b, Members: 3, Correct: true},
		{ID: "none", Members: 3}, {ID: "one hit", Scores: []float32{1, 2, 3}, Members: 3}, {ID: "one member", Scores: []float32{1, 2}, Members: 1},
		{ID: "3", Scores: c, Members: 3, Correct: true}, {ID: "4", Scores: c, Members: 3, Correct: true},
	}
	fit, err := FitTemperature(t.Context(), questions, TemperatureOptions{Grid: []float64{10}})
	if err != nil {
		t.Fatal(err)
	}
	if fit.Temperature != 10 || fit.Before.Questions != 4 || !slices.Equal(fit.Skipped, []string{"none", "one hit", "one member"}) {
		t.Errorf("temperature %v on %d questions, skipped %v", fit.Temperature, fit.Before.Questions, fit.Skipped)
	}
	// In bins of two: B 1 of 2 right, C 2 of 2. At 10 all share the last bin.
	near(t, "ECE before", fit.Before.ECE, (.5-.372543039+1-.777308904)/2, 1e-6)
	near(t, "ECE after", fit.After.ECE, (.959063816+.973248630)/2-.75, 1e-6)
	near(t, "ECE held out", fit.HeldOut.ECE, fit.After.ECE, 1e-12) // the grid leaves no choice
	near(t, "confidence of C", fit.Outcomes[2].Confidence, .973248630, 1e-6)
	near(t, "AUROC", *fit.After.AUROC, 2.5/3, 1e-12)

	// At a free choice it does better than both.
	free, err := FitTemperature(t.Context(), questions, TemperatureOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if free.After.ECE > fit.Before.ECE+1e-12 || free.After.ECE > fit.After.ECE {
		t.Errorf("ECE %v at %v, yet %v at 1 and %v at 10", free.After.ECE, free.Temperature, fit.Before.ECE, fit.After.ECE)
	}
}

// simulated gives questions whose first hit is right with the chance that the
// confidence at the true temperature says.
func simulated(t *testing.T, n int, temperature float64, seed uint64) []EnsembleQuestion {
	t.Helper()
	const members, hits = 8, 6
	rng := rand.New(rand.NewPCG(seed, 1))
	questions := make([]EnsembleQuestion, n)
	for i := range questions {
		q := EnsembleQuestion{ID: fmt.Sprint("sim-", i), Members: members}
		agreement := rng.Float64() * 3
		for range members {
			for hit := range hits {
				score := rng.NormFloat64()
				if hit == 0 {
					score += agreement
				}
				q.Scores = append(q.Scores, float32(score*temperature*4))
			}
		}
		information, err := fusion.MutualInformation(q.Scores, members, temperature)
		if err != nil {
			t.Fatal(err)
		}
		q.Correct = rng.Float64() < fusion.Confidence(information, members)
		questions[i] = q
	}
	return questions
}

// TestTemperatureIsFound: questions that are calibrated at a temperature of
// 0.05, which is no point of the grid, give that temperature back.
func TestTemperatureIsFound(t *testing.T) {
	questions := simulated(t, 2500, .05, 2)
	fit, err := FitTemperature(t.Context(), questions, TemperatureOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if fit.Temperature < .03 || fit.Temperature > .08 || fit.AtEdge {
		t.Errorf("temperature %v (edge %v), want about 0.05", fit.Temperature, fit.AtEdge)
	}
	confidences := make([]float64, len(questions))
	for i, o := range fit.HeldOutOutcomes {
		confidences[i] = o.Confidence
	}
	bound, err := PerfectECE(confidences, len(confidences), .99, 300, 1)
	if err != nil {
		t.Fatal(err)
	}
	if fit.HeldOut.ECE > bound || fit.Before.ECE < 2*bound {
		t.Errorf("ECE %.4f before, %.4f held out; a perfect predictor stays below %.4f", fit.Before.ECE, fit.HeldOut.ECE, bound)
	}
	for _, p := range fit.Curve {
		if p.Value < fit.After.ECE {
			t.Errorf("ECE %v at %v, and %v was chosen with %v", p.Value, p.X, fit.Temperature, fit.After.ECE)
		}
	}
}

// TestTemperatureOfOtherFolds works out the held-out confidences in the
// slow way: a fit of its own on the other folds.
func TestTemperatureOfOtherFolds(t *testing.T) {
	questions := simulated(t, 60, .05, 3)
	grid := []float64{.01, .03, .1, .3}
	fit, err := FitTemperature(t.Context(), questions, TemperatureOptions{Grid: grid})
	if err != nil {
		t.Fatal(err)
	}
	again, err := FitTemperature(t.Context(), questions, TemperatureOptions{Grid: grid})
	if err != nil || !reflect.DeepEqual(fit, again) {
		t.Errorf("the same questions gave another fit (%v)", err)
	}
	differs := 0
	for i, q := range questions {
		var others []EnsembleQuestion
		for _, other := range questions {
			if Fold(other.ID) != Fold(q.ID) {
				others = append(others, other)
			}
		}
		alone, err := FitTemperature(t.Context(), others, TemperatureOptions{Grid: grid})
		if err != nil {
			t.Fatal(err)
		}
		information, err := fusion.MutualInformation(q.Scores, q.Members, alone.Temperature)
		if err != nil {
			t.Fatal(err)
		}
		if want := fusion.Confidence(information, q.Members); math.Abs(fit.HeldOutOutcomes[i].Confidence-want) > 1e-12 {
			t.Errorf("question %d: held-out confidence %v, want %v at %v", i, fit.HeldOutOutcomes[i].Confidence, want, alone.Temperature)
		}
		if fit.HeldOutOutcomes[i] != fit.Outcomes[i] {
			differs++
		}
	}
	if differs == 0 {
		t.Error("every fold has the same temperature: the test proves nothing")
	}
}

func TestTemperatureRefuses(t *testing.T) {
	good := simulated(t, 20, .05, 4)
	bad := slices.Clone(good)
	bad[7].Scores = slices.Clone(bad[7].Scores)
	bad[7].Scores[0] = float32(math.NaN())
	uneven := slices.Clone(good)
	uneven[3].Scores = uneven[3].Scores[1:]
	for name, c := range map[string]struct {
		questions []EnsembleQuestion
		grid      []float64
	}{
		"no questions": {}, "none usable": {questions: []EnsembleQuestion{{ID: "a", Members: 3}}},
		"a score that is no number": {questions: bad}, "uneven members": {questions: uneven},
		"one fold": {questions: good[:1]}, "a temperature of 0": {good, []float64{0, 1}},
	} {
		if _, err := FitTemperature(t.Context(), c.questions, TemperatureOptions{Grid: c.grid}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := FitTemperature(cancelled, good, TemperatureOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
