package ablation

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"example.org/conclave/calibration"
	"example.org/conclave/fusion"
)

// Few is the result of calibrating on few questions: gates fitted on random parts of the questions, next to the gate
// that they begin with, measured on the remaining questions.
type Few struct {
	Questions int `json:"questions"` // that were fitted on
	Draws     int `json:"draws"`
	// Before and After are the means over the draws; Worst is the lowest change of the
	// sum of top-1 and top-20 in a draw.
	Before Accuracies `json:"before"`
	After  Accuracies `json:"after"`
	Worst  float64    `json:"worst"`
	// Shipped and Fitted are confidences of the fitted gates' first passages, over the
	// questions left out and the same without their answers. Nil where the shipped one
	// is not for these sources.
	Shipped *Reliable `json:"shipped,omitempty"`
	Fitted  *Reliable `json:"fitted,omitempty"`
}

// Reliable has measures of confidences, means over the draws.
type Reliable struct {
	ECE   float64 `json:"ece"`
	AUROC float64 `json:"auroc"`
}

// fewDraws is how many parts of each size are drawn, and their seed.
const (
	fewDraws = 8
	fewSeed  = 13
)

// fewSizes returns the numbers of questions that are fitted on.
func fewSizes() []int { return []int{10, 30, 100, 300, 1000} }

// fewTrials returns a trial for each of fewSizes that leaves at least as many questions for measuring; nil if the
// gate's options name no gate to begin with.
func (t *trialRun) fewTrials() (all []trial) {
	if t.e.gate.Towards == nil {
		return nil
	}
	for _, n := range fewSizes() {
		if 2*n <= len(t.e.Questions) {
			all = append(all, func(ctx context.Context, r *Findings) error { return t.fitFew(ctx, r, n) })
		}
	}
	return all
}

// fitFew fits gates on n random questions, fewDraws times, measures them and the gate that they begin with on the
// others, and adds the result to r.Few. It fails if a fit does or ctx ends.
func (t *trialRun) fitFew(ctx context.Context, r *Findings, n int) error {
	e := t.e
	begin := e.startGate()
	before, err := e.rankedBy(begin)
	if err != nil {
		return err
	}
	prior := t.o.Prior.For(1)
	if !fusion.Closeness(e.Questions[0].Sources) {
		prior = nil
	}
	f := Few{Questions: n, Draws: fewDraws, Worst: math.Inf(1)}
	if prior != nil {
		f.Shipped, f.Fitted = &Reliable{}, &Reliable{}
	}
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
		after, err := e.rankedBy(&fit)
		if err != nil {
			return err
		}
		a, b := accuracies(after.pickAnswers(order[n:])), accuracies(before.pickAnswers(order[n:]))
		f.After.addShare(a, fewDraws)
		f.Before.addShare(b, fewDraws)
		f.Worst = min(f.Worst, a.Top1+a.Top20-b.Top1-b.Top20)
		if prior == nil {
			continue
		}
		chance, err := e.confidence(ctx, part, prior)
		if err != nil {
			return err
		}
		if err := f.Fitted.add(after, order[n:], chance); err != nil {
			return err
		}
		if err := f.Shipped.add(after, order[n:], &calibration.Confidence{K: 1, Kind: calibration.Platt,
			Logistic: *prior}); err != nil {
			return err
		}
	}
	r.Few = append(r.Few, f)
	return nil
}

// startGate returns the gate that fits to these questions begin with: WithoutLate if that is set and no source is
// late interaction, else Towards, which may be nil.
func (e *evidence) startGate() *fusion.Gate {
	if e.gate.WithoutLate != nil &&
		!slices.ContainsFunc(e.Questions[0].Sources, func(s fusion.ObservedSource) bool { return s.Kind == fusion.Late }) {
		return e.gate.WithoutLate
	}
	return e.gate.Towards
}

// rankedAnswers are the answers to questions, followed by those to the same questions without the passages that answer.
type rankedAnswers []calibration.RankedQuestion

// rankedBy returns the answers to every question by one gate, followed by those to the same questions without the
// passages that answer. It fails if the gate does not fit the sources.
func (e *evidence) rankedBy(gate *fusion.Gate) (rankedAnswers, error) {
	gates := slices.Repeat([]fusion.Gate{*gate}, calibration.Folds)
	answers, err := e.answerByGates(gates)
	if err != nil {
		return nil, err
	}
	return calibration.RankAnswers(e.Questions, calibration.BesideQuestions{}, answers, gates, e.gate.Specialists)
}

// pickAnswers returns the answers to the questions with these indexes, in this order.
func (r rankedAnswers) pickAnswers(places []int) []calibration.MethodAnswer {
	some := make([]calibration.MethodAnswer, len(places))
	for i, at := range places {
		some[i].First = r[at].First
	}
	return some
}

// confidence returns the confidence of the first passage, fitted as calibrating does: to the answers of gates of other
// folds. prior may be nil. It fails if a fit does.
func (e *evidence) confidence(
	ctx context.Context,
	part []calibration.Question,
	prior *calibration.Logistic,
) (*calibration.Confidence, error) {
	gates, err := calibration.FoldGates(ctx, part, e.gate)
	if err != nil {
		return nil, err
	}
	answers, err := calibration.AnswerByFold(gates, part, e.gate.Specialists)
	if err != nil {
		return nil, err
	}
	answered, err := calibration.RankAnswers(part, calibration.BesideQuestions{}, answers, gates, e.gate.Specialists)
	if err != nil {
		return nil, err
	}
	fit, err := calibration.FitConfidence(fusion.SignalNames(), answered, 1, prior)
	return &fit.Confidence, err
}

// add adds to x the measures of a confidence, divided by the number of draws: for the questions with these indexes,
// with the passages that answer and without. It fails if a question's signals do not fit the confidence.
func (x *Reliable) add(r rankedAnswers, places []int, chance *calibration.Confidence) error {
	outcomes := make([]calibration.Outcome, 0, 2*len(places))
	for _, first := range []int{0, len(r) / 2} {
		for _, at := range places {
			q := &r[first+at]
			c, err := chance.Of(q.Signals)
			if err != nil {
				return err
			}
			outcomes = append(outcomes, calibration.Outcome{Confidence: c, Correct: q.First == 1})
		}
	}
	s := calibration.Summarise(outcomes)
	x.ECE += s.ECE / fewDraws
	if s.AUROC != nil {
		x.AUROC += *s.AUROC / fewDraws
	}
	return nil
}

// addShare adds the accuracies b, divided by draws, to a.
func (a *Accuracies) addShare(b Accuracies, draws float64) {
	a.Top1 += b.Top1 / draws
	a.Top5 += b.Top5 / draws
	a.Top20 += b.Top20 / draws
}
