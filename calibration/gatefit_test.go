package calibration

import (
	"context"
	"math"
	"reflect"
	"runtime"
	"slices"
	"testing"
)

// problemFor returns what FitGate makes of questions.
func problemFor(t *testing.T, questions []Question) *gateProblem {
	t.Helper()
	forms, err := formsOf(questions, 0)
	if err != nil {
		t.Fatal(err)
	}
	return problemOf(forms)
}

// TestCoarseToFine: by way of a part of the questions the fit finds the minimum
// that it finds without, with a few steps over all of them, and the same one on
// any number of processors.
func TestCoarseToFine(t *testing.T) {
	p := problemFor(t, planted(t, 1600, 11))
	ctx := context.Background()
	_, plain, err := descend(ctx, p.plain(gateStart()), 1000, precision{1e-11, 1e-9, 0})
	if err != nil {
		t.Fatal(err)
	}
	x, loss, err := p.minimise(ctx, gateStart(), 200)
	if err != nil || math.Abs(loss-plain) > 1e-5 {
		t.Errorf("loss %v, without the part %v: %v", loss, plain, err)
	}
	_, slow, _ := descend(ctx, p.plain(gateStart()), 30, exactly)
	if _, quick, _ := p.minimise(ctx, gateStart(), 30); quick-plain > (slow-plain)/4 {
		t.Errorf(
			"after thirty steps over all questions the loss is %v, without the part %v, in the end %v",
			quick,
			slow,
			plain,
		)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	alone, _, err := p.minimise(ctx, gateStart(), 200)
	if err != nil || !slices.Equal(x, alone) {
		t.Errorf("on one processor the parameters are %v, else %v: %v", alone, x, err)
	}
}

// TestMisleadingPart: where the part is unlike the other questions, the fit is as
// good as without it.
func TestMisleadingPart(t *testing.T) {
	questions := planted(t, 800, 12)
	for i := range questions {
		if i%2 == 0 { // those of the part: whoever is familiar is wrong
			questions[i].Sources[0].Column, questions[i].Sources[1].Column = 1, 0
		}
	}
	p := problemFor(t, questions)
	ctx := context.Background()
	_, plain, err := descend(ctx, p.plain(gateStart()), 200, exactly)
	if err != nil {
		t.Fatal(err)
	}
	if _, loss, err := p.minimise(ctx, gateStart(), 200); err != nil || loss > plain+1e-5 {
		t.Errorf("loss %v, without the part %v: %v", loss, plain, err)
	}
}

// TestPartKeepsQuestionsWhole: a question is in the part with all its forms or
// with none.
func TestPartKeepsQuestionsWhole(t *testing.T) {
	p := gateProblem{}
	for _, of := range []int{0, 0, 2, 2, 3, 5, 5, 7} {
		p.questions = append(p.questions, gateForm{of: of})
	}
	var got []int
	for _, q := range p.subsample(2).questions {
		got = append(got, q.of)
	}
	if want := []int{0, 0, 3, 7}; !slices.Equal(got, want) {
		t.Errorf("questions %v, want %v", got, want)
	}
}

// TestFoldsShareForms: a fold's problem leaves the forms as they were, so that
// the next is fitted as if it was alone.
func TestFoldsShareForms(t *testing.T) {
	questions := planted(t, 60, 13)
	gates, err := FoldGates(context.Background(), questions, GateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for fold, gate := range gates {
		others := slices.DeleteFunc(slices.Clone(questions), func(q Question) bool { return foldOf(q.ID) == fold })
		alone, err := FitGate(context.Background(), others, GateOptions{})
		if err != nil || !reflect.DeepEqual(alone, gate) {
			t.Errorf("fold %d: %+v, alone %+v, %v", fold, gate, alone, err)
		}
	}
}
