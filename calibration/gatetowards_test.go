package calibration

import (
	"context"
	"math"
	"testing"

	"example.org/conclave/fusion"
)

// TestFewQuestionsMoveLittle: a gate that was fitted on many questions is hardly
// changed by ten that say the opposite, and overruled by three hundred of them.
func TestFewQuestionsMoveLittle(t *testing.T) {
	ctx := context.Background()
	fit, err := FitGate(ctx, planted(t, 300, 1), GateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	shipped := fit
	// The opposite: the specialist that is not familiar knows.
	opposite := func(n int, seed uint64) []Question {
		questions := planted(t, n, seed)
		for i := range questions {
			s := questions[i].Sources
			s[0].Familiarity, s[1].Familiarity = s[1].Familiarity, s[0].Familiarity
		}
		return questions
	}
	as := planted(t, 300, 2)
	other := opposite(300, 3)
	before := topOne(t, as, &shipped)
	few, err := FitGate(ctx, opposite(10, 4), GateOptions{Towards: &shipped, pull: 1e4})
	if err != nil {
		t.Fatal(err)
	}
	if got := topOne(t, as, &few); math.Abs(got-before) > .01 {
		t.Errorf("ten questions beside a pull of 10,000: %v right, before %v", got, before)
	}
	many, err := FitGate(ctx, opposite(300, 5), GateOptions{Towards: &shipped, pull: 10})
	if err != nil {
		t.Fatal(err)
	}
	if was, got := topOne(t, other, &shipped), topOne(t, other, &many); got < was+.2 {
		t.Errorf("300 questions that say the opposite: %v right of such questions, before %v", got, was)
	}
}

// TestPulledToTheOneWithoutLate: questions without late interaction begin with the
// gate for these.
func TestPulledToTheOneWithoutLate(t *testing.T) {
	with := fusion.Gate{
		Dense:   make([]float64, len(fusion.DenseFeatureNames())),
		Lexical: make([]float64, len(fusion.LexicalFeatureNames())),
		Words:   -1,
		Tokens:  .7,
		Late:    make([]float64, len(fusion.LateFeatureNames())),
	}
	without := fusion.Gate{
		Dense:   make([]float64, len(fusion.DenseFeatureNames())),
		Lexical: make([]float64, len(fusion.LexicalFeatureNames())),
		Words:   -2,
	}
	for j := range without.Lexical {
		without.Lexical[j] = float64(j) / 10
	}
	fit, err := FitGate(
		context.Background(),
		planted(t, 20, 7),
		GateOptions{Towards: &with, WithoutLate: &without, pull: 1e9},
	)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(fit.Words+2) > 1e-3 || math.Abs(fit.Lexical[5]-.5) > 1e-3 {
		t.Errorf("the fit is %+v, want %+v", fit, without)
	}
}
