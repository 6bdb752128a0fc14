package ablation

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"conclave/calibration"
	"conclave/fusion"
)

// Few is what calibrating on few questions gives: gates fitted on random parts of the
// questions, beside the gate that they begin with, on the questions left out.
type Few struct {
	Questions int `json:"questions"` // that were fitted on
	Draws     int `json:"draws"`
	// Before and After are the means over the draws; Worst is the lowest change of the
	// sum of top-1 and top-20 in a draw.
	Before Accuracies `json:"before"`
	After  Accuracies `json:"after"`
	Worst  float64    `json:"worst"`
}

// fewDraws is how many parts of each size are drawn, and their seed.
const (
	fewDraws = 8
	fewSeed  = 13
)

// fewSizes are the sizes of the parts.
func fewSizes() []int { return []int{10, 30, 100, 300, 1000} }

// few is a trial for each size that leaves at least as many questions out.
func (t *run) few() (all []trial) {
	if t.e.gate.Towards == nil {
		return nil
	}
	for _, n := range fewSizes() {
		if 2*n <= len(t.e.Questions) {
			all = append(all, func(ctx context.Context, r *Report) error { return t.fitFew(ctx, r, n) })
		}
	}
	return all
}

func (t *run) fitFew(ctx context.Context, r *Report, n int) error {
	e := t.e
	before, err := e.answered(e.gate.Towards, e.gate.WithoutLate)
	if err != nil {
		return err
	}
	f := Few{Questions: n, Draws: fewDraws, Worst: math.Inf(1)}
	rng := rand.New(rand.NewPCG(fewSeed, uint64(n)))
	for range fewDraws {
		order := rng.Perm(len(e.Questions))
		part := make([]calibration.Question, n)
		for i := range part {
			part[i] = e.Questions[order[i]]
		}
		fit, err := calibration.FitGate(ctx, part, e.gate)
		if err != nil {
			return err
		}
		answers, err := e.answered(&fit, nil)
		if err != nil {
			return err
		}
		var own, shipped []calibration.Answered
		for _, i := range order[n:] {
			own, shipped = append(own, answers[i]), append(shipped, before[i])
		}
		a, b := accuracies(own), accuracies(shipped)
		f.After.addShare(a, fewDraws)
		f.Before.addShare(b, fewDraws)
		f.Worst = min(f.Worst, a.Top1+a.Top20-b.Top1-b.Top20)
	}
	r.Few = append(r.Few, f)
	return nil
}

func (a *Accuracies) addShare(b Accuracies, of float64) {
	a.Top1 += b.Top1 / of
	a.Top5 += b.Top5 / of
	a.Top20 += b.Top20 / of
}

// answered answers every question by one gate, or by another where late interaction
// takes no part.
func (e *evidence) answered(gate, withoutLate *fusion.Gate) ([]calibration.Answered, error) {
	if len(e.Questions) > 0 && withoutLate != nil && !slices.ContainsFunc(e.Questions[0].Sources, func(s fusion.Observed) bool { return s.Kind == fusion.Late }) {
		gate = withoutLate
	}
	return e.gated(slices.Repeat([]fusion.Gate{*gate}, calibration.Folds))
}
