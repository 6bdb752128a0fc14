package calibration

import (
	"slices"

	"example.org/conclave/fusion"
)

// fitExact fits a logistic function in two steps. The signals of an ordinary question are
// fitted to the ordinary outcomes in which nothing is exact, as if there were no others.
// Those of exact things (from fusion.ExactFrom on) are fitted to all outcomes that have
// some, while the former stay as they are. So what is generated for exact things changes
// no confidence of a question without any.
//
// Other names than fusion.SignalNames are fitted in one step.
func fitExact(names []string, outcomes []signalOutcome, prior *Logistic) (Logistic, error) {
	if !slices.Equal(names, fusion.SignalNames()) {
		return fitLogistic(names, outcomes, prior)
	}
	var ordinary, exact []signalOutcome
	for _, o := range outcomes {
		if len(o.Signals) != len(names) {
			return Logistic{}, checkSignals(names, o.Signals)
		}
		if slices.ContainsFunc(o.Signals[fusion.ExactFrom:], func(x float64) bool { return x != 0 }) {
			exact = append(exact, o)
		} else if !o.Generated {
			o.Signals = o.Signals[:fusion.ExactFrom]
			ordinary = append(ordinary, o)
		}
	}
	var first, second *Logistic
	if prior != nil {
		first = &Logistic{Intercept: prior.Intercept, Signals: prior.Signals[:min(fusion.ExactFrom, len(prior.Signals))]}
		second = &Logistic{Signals: prior.Signals[len(first.Signals):]}
	}
	out, err := fitLogistic(names[:fusion.ExactFrom], ordinary, first)
	if err != nil {
		return out, err
	}
	out.Signals = slices.Clip(out.Signals)
	more, err := out.extended(names[fusion.ExactFrom:], exact, second)
	out.Signals = append(out.Signals, more...)
	return out, err
}

// extended returns the terms of further signals, fitted to outcomes whose first signals are
// its own, which do not change. The terms have no level of their own, and are not
// standardised beyond their deviation, so that a signal of 0 adds nothing.
func (l *Logistic) extended(names []string, outcomes []signalOutcome, prior *Logistic) ([]Term, error) {
	terms := make([]Term, len(names))
	for j, name := range names {
		terms[j].Name = name
		if prior != nil && len(prior.Signals) == len(names) {
			terms[j] = prior.Signals[j]
		}
	}
	if len(outcomes) == 0 {
		return terms, nil
	}
	p := likelihood{about: make([]float64, len(names)), ridge: ridge, level: ridge}
	if prior != nil {
		p.ridge, p.level = priorStrength, priorStrength
	}
	from := len(l.Signals)
	shifted := make([]signalOutcome, len(outcomes))
	positive, negative := 0.0, 0.0
	for i, o := range outcomes {
		odds, err := l.LogOdds(o.Signals)
		if err != nil {
			return nil, err
		}
		p.offsets = append(p.offsets, odds)
		p.weights = append(p.weights, weightOr1(o.Weight))
		shifted[i] = signalOutcome{Signals: o.Signals[from:], Weight: o.Weight}
		if o.Correct {
			positive += weightOr1(o.Weight)
		} else {
			negative += weightOr1(o.Weight)
		}
	}
	_, deviation := moments(len(names), shifted)
	for _, o := range outcomes {
		row := make([]float64, len(names))
		for j := range row {
			row[j] = o.Signals[from+j] / deviation[j]
		}
		target := 1 / (negative + 2)
		if o.Correct {
			target = (positive + 1) / (positive + 2)
		}
		p.rows, p.targets = append(p.rows, row), append(p.targets, target)
	}
	for j := range terms {
		p.about[j] = terms[j].Coefficient * deviation[j]
	}
	b, err := p.maximise()
	if err != nil {
		return nil, err
	}
	for j := range terms {
		terms[j].Coefficient = b[j] / deviation[j]
	}
	return terms, nil
}
