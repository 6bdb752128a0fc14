package ablation

import (
	"context"
	"math"
	"testing"

	"example.org/conclave/calibration"
	"example.org/conclave/fusion"
)

// TestFew: fits to parts of the questions are measured on the rest, beside the gate and
// the confidence that they begin with; one that says a half whatever it sees is off by
// what the accuracy is off, and tells nothing apart.
func TestFew(t *testing.T) {
	e := planted(t, 240)
	for i := range e.Questions { // the joint expert scores the others' candidates in its place
		e.Questions[i].Sources[4].Kind = fusion.Late
	}
	begin := fusion.Gate{
		Dense:   make([]float64, len(fusion.DenseFeatureNames())),
		Lexical: make([]float64, len(fusion.LexicalFeatureNames())),
		Words:   -3,
		Late:    make([]float64, len(fusion.LateFeatureNames())),
	}
	half := calibration.Logistic{Signals: make([]calibration.Term, len(fusion.SignalNames()))}
	for i, name := range fusion.SignalNames() {
		half.Signals[i].Name = name
	}
	prior := &calibration.Prior{Chances: calibration.Chances{{K: 1, Kind: calibration.Platt, Logistic: half}}}
	r, err := Run(
		context.Background(),
		&e.Evidence,
		TrialOptions{Gate: calibration.GateOptions{Towards: &begin}, Prior: prior, Base: "base", Only: []string{"few"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Few) != 3 || r.Few[0].Questions != 10 || r.Few[2].Questions != 100 {
		t.Fatalf("%+v", r.Few)
	}
	for _, f := range r.Few {
		// Of the questions with an answer so many are right, of as many without none.
		if want := math.Abs(f.After.Top1/2 - .5); math.Abs(f.Shipped.ECE-want) > 1e-9 || math.Abs(f.Shipped.AUROC-.5) > 1e-9 {
			t.Errorf("%d questions: a constant half has %+v with an accuracy of %v", f.Questions, f.Shipped, f.After.Top1)
		}
		if f.Worst > f.After.Top1+f.After.Top20-f.Before.Top1-f.Before.Top20+1e-9 {
			t.Errorf("%d questions: the worst draw, %v, is better than their mean", f.Questions, f.Worst)
		}
	}
	ten, hundred := r.Few[0], r.Few[2]
	if hundred.Fitted.ECE >= hundred.Shipped.ECE || hundred.Fitted.AUROC < .7 || hundred.After.Top1 < ten.After.Top1 {
		t.Errorf("ten questions: %+v %+v; a hundred: %+v %+v", ten, ten.Fitted, hundred, hundred.Fitted)
	}
	for i := range e.Questions { // without late interaction the shipped confidence is none
		e.Questions[i].Sources[4].Kind = fusion.Generalist
	}
	r, err = Run(
		context.Background(),
		&e.Evidence,
		TrialOptions{Gate: calibration.GateOptions{Towards: &begin}, Prior: prior, Base: "base", Only: []string{"few"}},
	)
	if err != nil || r.Few[0].Fitted != nil || r.Few[0].Shipped != nil {
		t.Errorf("%+v, %v", r, err)
	}
}
