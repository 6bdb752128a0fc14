package calibration

import (
	"cmp"
	"context"
	"fmt"

	"example.org/conclave/fusion"
)

// GateOptions are the options of FitGate.
type GateOptions struct {
	// Specialists is how many specialists are asked, the most familiar with each
	// question. 0: all.
	Specialists int
	// Towards is the gate that few questions leave as it is: coefficients and
	// intercepts are pulled to it by (usualPull / questions)², so that few hardly move
	// it and thousands decide alone. WithoutLate takes its place for questions without
	// late interaction. Nil: equal weights, by a weak ridge.
	Towards, WithoutLate *fusion.Gate

	pull float64 // 0: usualPull
}

const (
	// usualPull was chosen by gates fitted on random parts of the development questions
	// (docs/evidence/gate.md).
	usualPull = 150
	// gateRidge is the penalty on the squared coefficients of standardised features, in
	// nats per question, where a fit is pulled to no gate.
	gateRidge = 1e-3
	// gateRounds is the most steps of the optimiser: on a part of the questions, and
	// then on all of them.
	gateRounds = 200
)

// towards returns the gate that a fit on such questions is pulled to, or nil.
func (o *GateOptions) towards(late bool) *fusion.Gate {
	if !late && o.WithoutLate != nil {
		return o.WithoutLate
	}
	return o.Towards
}

// FitGate minimises the mean over questions of listwise plus lateness of κ · score, over a
// question's candidates: passages that answer should be first, and among the first twenty.
// The sharpness κ is fitted too and then dropped, since it does not change the order. The
// method is quasi-Newton from equal weights, so the result is deterministic.
func FitGate(ctx context.Context, questions []Question, o GateOptions) (fusion.Gate, error) {
	forms, err := formsOf(questions, o.Specialists)
	if err != nil {
		return fusion.Gate{}, err
	}
	return fitForms(ctx, forms, o)
}

// fitForms fits a gate on questions in the forms in which they are asked.
func fitForms(ctx context.Context, forms []askedForms, o GateOptions) (fusion.Gate, error) {
	p := problemOf(forms)
	if len(p.questions) == 0 {
		return fusion.Gate{}, fmt.Errorf(
			"none of %d questions has a passage that answers among its candidates: there is nothing to fit a gate on",
			len(forms),
		)
	}
	if prior := o.towards(p.late); prior != nil {
		if err := prior.Check(); err != nil {
			return fusion.Gate{}, fmt.Errorf("the gate to begin with: %w", err)
		}
		pull := cmp.Or(o.pull, usualPull) / float64(len(forms))
		p.origin = p.standardised(parametersOf(prior))
		p.ridge = pull * pull
		p.everywhere = true
		for i := range p.questions {
			p.questions[i].exact = prior.Exact
		}
	}
	x, _, err := p.minimise(ctx, gateStart(), gateRounds)
	if err != nil {
		return fusion.Gate{}, err
	}
	gate := p.gate(x)
	if prior := o.towards(p.late); prior != nil {
		gate.Exact = prior.Exact // few collections' questions have such words
	}
	return gate, gate.Check()
}
