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

	"example.org/conclave/fusion"
)

// TestSourceChance: a specialist that is right at home and wrong elsewhere is
// told apart by its familiarity, on questions of other folds; noise is not.
func TestSourceChance(t *testing.T) {
	questions := planted(t, 400, 8)
	for i := range questions {
		fusion.Rivals(questions[i].Sources)
	}
	specialist, err := fitSourceChance(questions, 0)
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for n := range questions {
		q := &questions[n]
		own, err := fusion.Sum(q.Table, []fusion.Source{{Column: 0, Weight: 1}}, fusion.LinearOptions{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if answers := q.Relevant[own.Items[0].Ordinal] > 0; answers != specialist.Outcomes[n].Correct {
			t.Fatalf("question %d: its first hit answers: %v, it says %v", n, answers, specialist.Outcomes[n].Correct)
		} else if answers {
			right++
		}
	}
	if specialist.Kind != fusion.Specialist || len(specialist.Outcomes) != 400 || right < 100 ||
		*specialist.HeldOut.AUROC < .9 ||
		specialist.HeldOut.ECE > .06 {
		t.Errorf(
			"%s: %d questions, %d right, AUROC %.3f, ECE %.3f",
			specialist.Kind,
			len(specialist.Outcomes),
			right,
			*specialist.HeldOut.AUROC,
			specialist.HeldOut.ECE,
		)
	}
	words, err := fitSourceChance(questions, 3)
	if err != nil || words.Kind != fusion.Lexical || *words.HeldOut.AUROC > .7 {
		t.Errorf("noise: %s, AUROC %.3f, %v", words.Kind, *words.HeldOut.AUROC, err)
	}

	for i := range questions {
		questions[i].Sources = questions[i].Sources[:3]
	}
	if none, err := fitSourceChance(questions, 0); err != nil || none.Outcomes != nil {
		t.Errorf("without words: %d questions, %v", len(none.Outcomes), err)
	}
}

// TestSourceRecordCheck: a record of other signals than these is of another
// version.
func TestSourceRecordCheck(t *testing.T) {
	questions := planted(t, 60, 9)
	fit, err := fitSourceChance(questions, 2)
	if err != nil {
		t.Fatal(err)
	}
	r := SourceRecord{Name: "g", Kind: fit.Kind, Chance: fit.Confidence}
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	r.Kind = fusion.Specialist
	if err := r.Check(); err == nil {
		t.Error("a generalist's chance passed for a specialist's")
	}
	r.Chance.K = 0
	if err := r.Check(); err == nil {
		t.Error("a broken chance was accepted")
	}
}

// TestTemperatureByHand: three members and the logits of the authors' example
// B, whose confidence at τ = 1 is 0.372543039 and at τ = 10 0.959063816, and
// of C, 0.777308904 and 0.973248630.
func TestTemperatureByHand(t *testing.T) {
	b := []float32{80, 79.5, 70, 60, 79, 81, 70, 60, 70, 71, 75, 60}
	c := []float32{80, 79.5, 70, 60, 80, 81, 70, 60, 80, 71, 75, 60}
	questions := []ensembleAnswer{
		{id: "1", scores: b, members: 3}, {id: "2", scores: b, members: 3, correct: true},
		{
			id:      "none",
			members: 3,
		}, {id: "one hit", scores: []float32{1, 2, 3}, members: 3}, {id: "one member", scores: []float32{1, 2}, members: 1},
		{id: "3", scores: c, members: 3, correct: true}, {id: "4", scores: c, members: 3, correct: true},
	}
	fit, err := fitTemperature(t.Context(), questions, []float64{10})
	if err != nil {
		t.Fatal(err)
	}
	if fit.temperature != 10 || len(fit.heldOut) != 4 || !slices.Equal(fit.confidences[2:5], []float64{-1, -1, -1}) {
		t.Errorf("temperature %v on %d questions, sure by %v", fit.temperature, len(fit.heldOut), fit.confidences)
	}
	// In bins of two: B 1 of 2 right, C 2 of 2. At 10 all share the last bin.
	near(t, "ECE before", fit.before, (.5-.372543039+1-.777308904)/2, 1e-6)
	near(t, "ECE after", fit.after, (.959063816+.973248630)/2-.75, 1e-6)
	near(t, "ECE held out", ECE(fit.heldOut), fit.after, 1e-12) // the grid leaves no choice
	near(t, "confidence of C", fit.confidences[5], .973248630, 1e-6)
	near(t, "AUROC", *Summarise(fit.heldOut).AUROC, 2.5/3, 1e-12)

	// At a free choice it does better than both.
	free, err := fitTemperature(t.Context(), questions, temperatureGrid())
	if err != nil {
		t.Fatal(err)
	}
	if free.after > fit.before+1e-12 || free.after > fit.after {
		t.Errorf("ECE %v at %v, yet %v at 1 and %v at 10", free.after, free.temperature, fit.before, fit.after)
	}
}

// simulated gives questions whose first hit is right with the chance that the
// confidence at the true temperature says.
func simulated(t *testing.T, n int, temperature float64, seed uint64) []ensembleAnswer {
	t.Helper()
	const members, hits = 8, 6
	rng := rand.New(rand.NewPCG(seed, 1))
	questions := make([]ensembleAnswer, n)
	for i := range questions {
		q := ensembleAnswer{id: fmt.Sprint("sim-", i), members: members}
		agreement := rng.Float64() * 3
		for range members {
			for hit := range hits {
				score := rng.NormFloat64()
				if hit == 0 {
					score += agreement
				}
				q.scores = append(q.scores, float32(score*temperature*4))
			}
		}
		information, err := fusion.MutualInformation(q.scores, members, temperature)
		if err != nil {
			t.Fatal(err)
		}
		q.correct = rng.Float64() < fusion.Confidence(information, members)
		questions[i] = q
	}
	return questions
}

// TestTemperatureIsFound: questions that are calibrated at a temperature of
// 0.05, which is no point of the grid, give that temperature back.
func TestTemperatureIsFound(t *testing.T) {
	questions := simulated(t, 2500, .05, 2)
	fit, err := fitTemperature(t.Context(), questions, temperatureGrid())
	if err != nil {
		t.Fatal(err)
	}
	if fit.temperature < .03 || fit.temperature > .08 {
		t.Errorf("temperature %v, want about 0.05", fit.temperature)
	}
	if bound := perfectECE(fit.heldOut); ECE(fit.heldOut) > bound || fit.before < 2*bound {
		t.Errorf("ECE %.4f before, %.4f held out; a perfect predictor stays below %.4f", fit.before, ECE(fit.heldOut), bound)
	}
}

// TestTemperatureOfOtherFolds works out the held-out confidences in the
// slow way: a fit of its own on the other folds.
func TestTemperatureOfOtherFolds(t *testing.T) {
	questions := simulated(t, 60, .05, 3)
	grid := []float64{.01, .03, .1, .3}
	fit, err := fitTemperature(t.Context(), questions, grid)
	if err != nil {
		t.Fatal(err)
	}
	again, err := fitTemperature(t.Context(), questions, grid)
	if err != nil || !reflect.DeepEqual(fit, again) {
		t.Errorf("the same questions gave another fit (%v)", err)
	}
	differs := 0
	for i, q := range questions {
		var others []ensembleAnswer
		for _, other := range questions {
			if foldOf(other.id) != foldOf(q.id) {
				others = append(others, other)
			}
		}
		alone, err := fitTemperature(t.Context(), others, grid)
		if err != nil {
			t.Fatal(err)
		}
		information, err := fusion.MutualInformation(q.scores, q.members, alone.temperature)
		if err != nil {
			t.Fatal(err)
		}
		if want := fusion.Confidence(information, q.members); math.Abs(fit.confidences[i]-want) > 1e-12 {
			t.Errorf("question %d: held-out confidence %v, want %v at %v", i, fit.confidences[i], want, alone.temperature)
		}
		if alone.temperature != fit.temperature {
			differs++
		}
	}
	if differs == 0 {
		t.Error("every fold has the same temperature: the test proves nothing")
	}
}

// TestTemperatureAtAnEnd: members that disagree about every question, of which none is
// answered, are the better calibrated the lower the temperature, so the grid ends too soon.
func TestTemperatureAtAnEnd(t *testing.T) {
	questions := simulated(t, 40, .05, 5)
	for i := range questions {
		questions[i].correct = false
	}
	fit, err := fitTemperature(t.Context(), questions, []float64{.5, 1, 2})
	if err != nil || !fit.edge || fit.temperature != .5 {
		t.Errorf("temperature %v, at an end %t, %v", fit.temperature, fit.edge, err)
	}
	fit, err = fitTemperature(t.Context(), simulated(t, 500, .05, 2), temperatureGrid())
	if err != nil || fit.edge {
		t.Errorf("temperature %v in the midst: at an end %t, %v", fit.temperature, fit.edge, err)
	}
}

func TestTemperatureRefuses(t *testing.T) {
	good := simulated(t, 20, .05, 4)
	bad := slices.Clone(good)
	bad[7].scores = slices.Clone(bad[7].scores)
	bad[7].scores[0] = float32(math.NaN())
	uneven := slices.Clone(good)
	uneven[3].scores = uneven[3].scores[1:]
	for name, c := range map[string]struct {
		questions []ensembleAnswer
	}{
		"no questions": {}, "none usable": {questions: []ensembleAnswer{{id: "a", members: 3}}},
		"a score that is no number": {questions: bad}, "uneven members": {questions: uneven},
		"one fold": {questions: good[:1]},
	} {
		if _, err := fitTemperature(t.Context(), c.questions, temperatureGrid()); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fitTemperature(cancelled, good, temperatureGrid()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
