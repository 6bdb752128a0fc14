package search

import (
	"context"
	"fmt"
	"slices"

	"conclave/fusion"
)

// nearestQuestions is how many representatives of an expert a question is
// compared with: the mean over the ten nearest is its familiarity.
const nearestQuestions = 10

// gated fuses by the gate: weights by question. An expert whose ensemble was
// asked brings its confidence along.
func (a *answer) gated(ctx context.Context, p *plan) (fusion.Ranking, error) {
	observed := a.observe(ctx)
	if p.specialists > 0 { // there are more when another method needed them
		observed = fusion.MostFamiliar(observed, p.specialists)
	}
	gate := a.engine.defaults.gateFor(observed)
	ranking, err := fusion.Gated(a.table, gate, observed, p.missing, p.k)
	if err != nil {
		return ranking, err
	}
	if gate == a.engine.defaults.Gate { // the chances are those of its answers
		err = a.answerChances(&ranking, observed)
	}
	return ranking, err
}

// gateFor is the gate for these sources.
func (d *Defaults) gateFor(observed []fusion.Observed) *fusion.Gate {
	late := slices.ContainsFunc(observed, func(o fusion.Observed) bool { return o.Kind == fusion.Late })
	if !late && d.GateWithoutLate != nil {
		return d.GateWithoutLate
	}
	return d.Gate
}

// observe says of every source that answered what the gate wants to know, once
// for a request.
func (a *answer) observe(ctx context.Context) []fusion.Observed {
	if a.observed != nil {
		return a.observed
	}
	experts, lexical := a.answering()
	reference := a.known
	known := a.engine.familiarities(reference)
	for _, i := range experts {
		f := &a.findings[i]
		x := &a.engine.experts[a.plan.experts[i]]
		o := fusion.Observed{Column: i, Kind: fusion.Generalist, Confidence: -1}
		if a.engine.isReference(a.plan.experts[i]) {
			o.Kind = fusion.Base
		}
		if a.engine.defaults.Chances != nil && len(x.Representatives) == 0 {
			o.Random = f.randomScores(a.view.Passages().Ordinals())
		}
		if f.sure != nil {
			o.Confidence = f.sure.confidence
		}
		if len(x.Representatives) > 0 && reference != nil {
			own := known[a.plan.experts[i]]
			o.Kind, o.Familiarity = fusion.Specialist, own.Familiarity
			f.familiarity = ptr(o.Familiarity)
		}
		o.Rival = known[a.plan.experts[i]].Rival
		a.observed = append(a.observed, o)
	}
	if lexical >= 0 {
		a.observed = append(a.observed, fusion.Observed{Column: lexical, Kind: fusion.Lexical, Ceiling: a.findings[lexical].ceiling,
			Rival: known[len(known)-1].Rival})
		if at := a.plan.phrasesAt(); at >= 0 && a.findings[at].status == StatusOK {
			a.observed = append(a.observed, fusion.Observed{Column: at, Kind: fusion.Phrases})
		}
	}
	if at := a.plan.lateAt(); at >= 0 && a.findings[at].status == StatusOK {
		o := fusion.Observed{Column: at, Kind: fusion.Late, Confidence: -1}
		if a.engine.defaults.Chances != nil {
			o.Random = a.findings[at].randomScores(a.view.Passages().Ordinals())
		}
		a.observed = append(a.observed, o)
	}
	return a.observed
}

// familiarities says of every expert of the engine how familiar the question
// is to it, and to its nearest rival: of those that are not asked too, so that
// a chance does not depend on who is. The last is a source without a domain.
func (e *lineUp) familiarities(reference []float32) []fusion.Observed {
	all := make([]fusion.Observed, len(e.experts)+1)
	for i := range e.experts {
		if own := e.experts[i].Representatives; len(own) > 0 && reference != nil {
			all[i].Kind, all[i].Familiarity = fusion.Specialist, familiarity(reference, own)
		}
	}
	fusion.Rivals(all)
	return all
}

// isReference reports whether the expert is the base itself, whose vectors
// familiarity is measured with.
func (e *lineUp) isReference(expert int) bool {
	return e.referenceExpert >= 0 && e.encoderOf[expert] == e.encoderOf[e.referenceExpert]
}

// ready finds out what fusing would have to wait for: the question as the
// reference encodes it, where a method weighs by that or it is there anyway.
func (a *answer) ready(ctx context.Context) {
	if a.knowsReference() || slices.ContainsFunc(a.plan.methods, func(m plannedMethod) bool { return m.gated }) {
		a.known = a.reference(ctx)
	}
}

// reference is the question as the reference encodes it: from its own search,
// or encoded now when it was not asked to search. Where it cannot be had every
// expert counts as a generalist, and a note under Degraded says so.
func (a *answer) reference(ctx context.Context) []float32 {
	e := a.engine
	if e.referenceExpert < 0 {
		return nil
	}
	if a.knowsReference() {
		return a.plan.reference
	}
	x := &e.experts[e.referenceExpert]
	var vector []float32
	err := guard(func() (err error) {
		if vector, err = x.Encoder.EncodeQuestion(ctx, a.plan.question); err != nil {
			return err
		}
		return checkVector(vector, x.Info.Dimension)
	})
	if err != nil {
		e.observer.Source(ctx, x.Name, StatusFailed, fmt.Errorf("encoding the question for familiarity: %w", err))
		a.degraded = append(a.degraded, Missing{Source: x.Name,
			Reason: "it could not encode the question, so how familiar the experts are with it is not known"})
		return nil
	}
	a.plan.reference = vector
	return vector
}

// knowsReference reports whether the question's vector by the reference is
// there already.
func (a *answer) knowsReference() bool {
	if a.plan.reference == nil {
		a.plan.reference = a.engine.referenceVector(a.plan, a.findings)
	}
	return a.plan.reference != nil
}

// referenceVector is the question's vector by the reference when that, or an
// expert with the same encoder, was asked; otherwise nil.
func (e *lineUp) referenceVector(p *plan, findings []finding) []float32 {
	if e.referenceExpert < 0 {
		return nil
	}
	for i, expert := range p.experts {
		if e.encoderOf[expert] == e.encoderOf[e.referenceExpert] && findings[i].vector != nil {
			return findings[i].vector
		}
	}
	return nil
}

// familiarity is the mean inner product of a question with its nearest
// representatives, [R, len(question)].
func familiarity(question, representatives []float32) float64 {
	d := len(question)
	products := make([]float32, 0, len(representatives)/d)
	for ; len(representatives) >= d; representatives = representatives[d:] {
		products = append(products, innerProduct(question, representatives[:d]))
	}
	return fusion.Familiarity(products, nearestQuestions)
}

// innerProduct adds in four lanes: a single sum waits for itself.
func innerProduct(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	n := len(a) &^ 3
	b = b[:len(a)]
	for i := 0; i < n; i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for i := n; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}
