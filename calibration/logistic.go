package calibration

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"example.org/conclave/fusion"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"
)

// Logistic is a chance from signals: 1/(1 + exp(-(intercept + Σ c·x))). With
// one signal it is Platt's scaling.
type Logistic struct {
	Intercept float64 `json:"intercept" yaml:"intercept"`
	Signals   []Term  `json:"signals"   yaml:"signals"`
}

// Term is one signal's part in the log-odds: its coefficient times its value.
type Term struct {
	Name        string  `json:"name"        yaml:"name"`
	Coefficient float64 `json:"coefficient" yaml:"coefficient"`
}

// signalOutcome is the signals of an answer, and whether it was right.
type signalOutcome struct {
	Signals []float64
	Correct bool
	Weight  float64 // how many outcomes it counts for; 0: one
	// Generated: the question was made of a passage (questions.Generate).
	Generated bool
}

// ridge is the penalty on half the squared coefficients of standardised signals, beside a
// sum over questions. It is negligible but for signals that repeat each other, which it
// gives a unique solution.
const ridge = 1e-3

// priorStrength is the ridge towards a prior. With it a collection's questions outweigh the
// prior from some dozen to some hundred on: see the curve in docs/evidence/gate.md.
const priorStrength = 30

// levelStrength is that towards the prior's log-odds in the middle of the signals, which is
// one number and is learned from fewer questions.
const levelStrength = 5

// fitLogistic returns the logistic function with the highest likelihood, by Newton's method; with a prior, the most
// likely one where its coefficients, and the log-odds in the middle of the signals, lie about the prior's. The targets
// are Platt's, (N₊+1)/(N₊+2) and 1/(N₋+2) in place of 1 and 0, so that signals which separate the outcomes do not give
// a certainty (Platt, 1999; Lin, Lin and Weng, 2007). It fails without outcomes, for a signal that is not a number, for
// a prior of other signals, and if the steps do not converge.
func fitLogistic(names []string, outcomes []signalOutcome, prior *Logistic) (Logistic, error) {
	if len(outcomes) == 0 {
		return Logistic{}, fmt.Errorf("there are no outcomes to fit on")
	}
	positive, negative := 0.0, 0.0
	for i, o := range outcomes {
		if err := checkSignals(names, o.Signals); err != nil {
			return Logistic{}, fmt.Errorf("outcome %d of %d: %w", i+1, len(outcomes), err)
		}
		if o.Correct {
			positive += weightOr1(o.Weight)
		} else {
			negative += weightOr1(o.Weight)
		}
	}
	high, low := (positive+1)/(positive+2), 1/(negative+2)

	mean, deviation := momentsOf(len(names), outcomes)
	p := penalisedLikelihood{
		rows:    make([][]float64, len(outcomes)),
		targets: make([]float64, len(outcomes)),
		weights: make([]float64, len(outcomes)),
		about:   make([]float64, len(names)+1),
		ridge:   ridge,
		level:   1e-9,
	}
	if prior != nil {
		if err := prior.pullToPrior(&p, names, mean, deviation); err != nil {
			return Logistic{}, err
		}
	}
	for i, o := range outcomes {
		row := make([]float64, len(names)+1)
		row[0] = 1
		for j, x := range o.Signals {
			row[j+1] = (x - mean[j]) / deviation[j]
		}
		p.weights[i] = weightOr1(o.Weight)
		p.rows[i] = row
		p.targets[i] = low
		if o.Correct {
			p.targets[i] = high
		}
	}
	b, err := p.maximise()
	if err != nil {
		return Logistic{}, err
	}
	l := Logistic{Intercept: b[0], Signals: make([]Term, len(names))}
	for j, name := range names {
		l.Signals[j] = Term{Name: name, Coefficient: b[j+1] / deviation[j]}
		l.Intercept -= b[j+1] / deviation[j] * mean[j]
	}
	return l, nil
}

// pullToPrior sets p's centre and strength so that the fit is pulled to l, the prior, for signals with these means and
// deviations. It fails if the prior has other signals than names.
func (l *Logistic) pullToPrior(p *penalisedLikelihood, names []string, mean, deviation []float64) error {
	if len(l.Signals) != len(names) {
		return fmt.Errorf("the prior is for %d signals, not %d", len(l.Signals), len(names))
	}
	p.ridge = priorStrength
	p.level = levelStrength
	p.about[0] = l.Intercept
	for j, t := range l.Signals {
		if t.Name != names[j] {
			return fmt.Errorf("signal %d of the prior is %s, not %s", j+1, t.Name, names[j])
		}
		p.about[0] += t.Coefficient * mean[j]
		p.about[j+1] = t.Coefficient * deviation[j]
	}
	return nil
}

// checkSignals returns an error unless there is one finite signal for each name.
func checkSignals(names []string, signals []float64) error {
	if len(signals) != len(names) {
		return fmt.Errorf("%d signals for the names %q", len(signals), names)
	}
	for j, x := range signals {
		if math.IsNaN(x) || math.Abs(x) > 1e150 { // their squares must be finite
			return fmt.Errorf("signal %s is %v", names[j], x)
		}
	}
	return nil
}

// momentsOf returns the weighted mean and deviation of each of n signals. A constant signal gets the deviation 1.
func momentsOf(n int, outcomes []signalOutcome) (mean, deviation []float64) {
	mean, deviation = make([]float64, n), make([]float64, n)
	values, weights := make([]float64, len(outcomes)), make([]float64, len(outcomes))
	for j := range n {
		for i, o := range outcomes {
			values[i] = o.Signals[j]
			weights[i] = weightOr1(o.Weight)
		}
		mean[j], deviation[j] = stat.PopMeanStdDev(values, weights)
		if deviation[j] <= 1e-12*math.Abs(mean[j]) || deviation[j] == 0 {
			deviation[j] = 1
		}
	}
	return mean, deviation
}

// LogOdds returns the intercept plus the terms. It fails unless there is a signal for each term.
func (l Logistic) LogOdds(signals []float64) (float64, error) {
	if len(signals) != len(l.Signals) {
		return 0, fmt.Errorf("%d signals, and the calibration is for %d", len(signals), len(l.Signals))
	}
	sum := l.Intercept
	for i, t := range l.Signals {
		sum += t.Coefficient * signals[i]
	}
	if math.IsNaN(sum) {
		return 0, fmt.Errorf("the signals %v give no number", signals)
	}
	return sum, nil
}

// sigmoid returns 1/(1 + exp(-x)) without overflow.
func sigmoid(x float64) float64 {
	if x < 0 {
		e := math.Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-x))
}

// penalisedLikelihood is the log-likelihood of a logistic function minus a penalty: half of ridge times the squared
// distances of the coefficients from about, and half of level times that of column 0, which is 1 in all rows.
type penalisedLikelihood struct {
	rows    [][]float64
	targets []float64
	weights []float64
	offsets []float64 // of the rows' log-odds; nil: none
	about   []float64
	ridge   float64
	level   float64
}

// penaltyOf returns the strength of the penalty on coefficient j: level for the intercept, which is number 0, else
// ridge.
func (p *penalisedLikelihood) penaltyOf(j int) float64 {
	if j == 0 {
		return p.level
	}
	return p.ridge
}

// logOdds returns the log-odds of row i with coefficients b.
func (p *penalisedLikelihood) logOdds(i int, b []float64) float64 {
	odds := floats.Dot(p.rows[i], b)
	if p.offsets != nil {
		odds += p.offsets[i]
	}
	return odds
}

// loss returns the negative log-likelihood of the targets with the coefficients b, plus the penalty. The fit minimises
// it.
func (p *penalisedLikelihood) loss(b []float64) float64 {
	sum := 0.0
	for i := range p.rows {
		z := p.logOdds(i, b)
		// ln(1 + exp(z)) - t·z, without overflow.
		sum += p.weights[i] * (max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) - p.targets[i]*z)
	}
	for j, x := range b {
		sum += p.penaltyOf(j) / 2 * (x - p.about[j]) * (x - p.about[j])
	}
	return sum
}

// slope writes the gradient of loss at the coefficients b to slope, which must be as long as b.
func (p *penalisedLikelihood) slope(slope, b []float64) {
	for j := range b {
		slope[j] = p.penaltyOf(j) * (b[j] - p.about[j])
	}
	for i, row := range p.rows {
		floats.AddScaled(slope, p.weights[i]*(sigmoid(p.logOdds(i, b))-p.targets[i]), row)
	}
}

// curvature writes the second derivatives of loss at the coefficients b to curvature, which must have len(b) rows.
func (p *penalisedLikelihood) curvature(curvature *mat.SymDense, b []float64) {
	curvature.Zero()
	for j := range b {
		curvature.SetSym(j, j, p.penaltyOf(j))
	}
	for i, row := range p.rows {
		chance := sigmoid(p.logOdds(i, b))
		curvature.SymRankOne(curvature, p.weights[i]*chance*(1-chance), mat.NewVecDense(len(row), row))
	}
}

// maximise returns the coefficients with the highest penalised likelihood, by Newton's method; there is only one
// maximum. It fails if the steps do not converge.
func (p *penalisedLikelihood) maximise() ([]float64, error) {
	result, err := optimize.Minimize(optimize.Problem{Func: p.loss, Grad: p.slope, Hess: p.curvature}, p.about,
		&optimize.Settings{GradientThreshold: 1e-8, MajorIterations: 100}, &optimize.Newton{})
	if result == nil ||
		err != nil && !errors.Is(err, optimize.ErrLinesearcherFailure) && !errors.Is(err, optimize.ErrNoProgress) {
		return nil, fmt.Errorf("the logistic fit: %w", err)
	}
	return result.X, nil
}

// fitExact fits a logistic function in two steps. The signals of an ordinary question are
// fitted to the ordinary outcomes in which nothing is exact, as if there were no others.
// Those of exact things (from fusion.ExactFrom on) are fitted to all outcomes that have
// some, while the former stay as they are. So what is generated for exact things changes
// no confidence of a question without any.
//
// Other names than fusion.SignalNames are fitted in one step. It fails if an outcome has another number of signals than
// names, or no fit is found.
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
	more, err := out.fitFurther(names[fusion.ExactFrom:], exact, second)
	out.Signals = append(out.Signals, more...)
	return out, err
}

// fitFurther returns the terms of further signals, named names, fitted to outcomes whose first signals are l's own,
// which stay as they are. The terms have no intercept and are scaled only by their deviation, so that a signal of 0
// adds nothing. Without outcomes it returns the prior's terms, or zeros. It fails if an outcome has another number of
// signals, or no fit is found.
func (l *Logistic) fitFurther(names []string, outcomes []signalOutcome, prior *Logistic) ([]Term, error) {
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
	p := penalisedLikelihood{about: make([]float64, len(names)), ridge: ridge, level: ridge}
	if prior != nil {
		p.ridge, p.level = priorStrength, priorStrength
	}
	from := len(l.Signals)
	shifted := make([]signalOutcome, len(outcomes))
	positive, negative := 0.0, 0.0
	for i, o := range outcomes {
		odds, err := l.LogOdds(o.Signals[:from])
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
	_, deviation := momentsOf(len(names), shifted)
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
