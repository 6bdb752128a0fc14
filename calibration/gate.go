package calibration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"example.org/conclave/fusion"

	"gonum.org/v1/gonum/optimize"
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

// priorGate returns the gate towards which a fit is pulled, for questions with late interaction or without; nil: none.
func (o *GateOptions) priorGate(late bool) *fusion.Gate {
	if !late && o.WithoutLate != nil {
		return o.WithoutLate
	}
	return o.Towards
}

// FitGate minimises the mean over questions of listwise plus lateness of κ · score, over a question's candidates:
// passages that answer should be first, and among the first twenty. The sharpness κ is fitted too and then dropped,
// since it does not change the order. The method is quasi-Newton from equal weights, so the result is deterministic. It
// fails if no question has a passage that answers among its candidates, if the gate to begin with is invalid, or if ctx
// ends.
func FitGate(ctx context.Context, questions []Question, o GateOptions) (fusion.Gate, error) {
	forms, err := formsOf(questions, o.Specialists)
	if err != nil {
		return fusion.Gate{}, err
	}
	return fitForms(ctx, forms, o)
}

// fitForms returns the gate fitted on questions, each in the forms in which it is asked. With a prior gate in o it is
// pulled towards that, and has its Spread and what keepUnfitted keeps. It fails if no question has a passage that
// answers among its candidates, if the prior or the fitted gate is invalid, or if ctx ends.
func fitForms(ctx context.Context, forms []askedForms, o GateOptions) (fusion.Gate, error) {
	p := problemOf(forms)
	if len(p.questions) == 0 {
		return fusion.Gate{}, fmt.Errorf(
			"none of %d questions has a passage that answers among its candidates: there is nothing to fit a gate on",
			len(forms),
		)
	}
	if prior := o.priorGate(p.late); prior != nil {
		if err := prior.Check(); err != nil {
			return fusion.Gate{}, fmt.Errorf("the gate to begin with: %w", err)
		}
		pull := cmp.Or(o.pull, usualPull) / float64(len(forms))
		p.origin = p.standardisedParameters(parametersOf(prior))
		p.ridge = pull * pull
		p.everywhere = true
		for i := range p.questions {
			q := &p.questions[i]
			q.prior, q.scales = prior, make([]float64, len(q.sources))
			for at := range q.sources {
				q.scales[at] = prior.ScaleOf(&q.sources[at])
			}
		}
	}
	x, _, err := p.minimise(ctx, gateStart(), gateRounds)
	if err != nil {
		return fusion.Gate{}, err
	}
	gate := p.gateAt(x)
	if prior := o.priorGate(p.late); prior != nil {
		keepUnfitted(&gate, prior)
		gate.Spread = prior.Spread
	}
	return gate, gate.Check()
}

// UsualPhrases is the weight of phrases beside BM25's that the fit begins with,
// and that its ridge pulls to where questions say little.
const UsualPhrases = 0.6

// usualNear is the weight of nearness beside BM25's that the fit begins with.
const usualNear = 0.5

// Where the numbers of a gate are among the parameters of its fit.
const (
	atSpecialist = iota
	atGeneralist
	atBase
	atWords
	atSharpness
	atPhrases // logarithm of their weight divided by BM25's
	atNear    // the same of nearness
	atTokens  // intercept of late interaction's logarithmic weight
	atDense
)

var (
	atLexical  = atDense + len(fusion.DenseFeatureNames())
	atLate     = atLexical + len(fusion.LexicalFeatureNames())
	parameters = atLate + len(fusion.LateFeatureNames())
)

// gateStart returns the parameters with which the fit of a gate begins, in a new slice. All dense sources have equal
// weights. BM25 has the weight 0.03, phrases and nearness UsualPhrases and usualNear times that; these are stored as
// logarithms, and so is the sharpness, 20. The coefficients of all features are 0.
func gateStart() []float64 {
	x := make([]float64, parameters)
	x[atWords], x[atSharpness], x[atPhrases] = math.Log(0.03), math.Log(20), math.Log(UsualPhrases)
	x[atNear] = math.Log(usualNear)
	return x
}

// gateOf returns the gate with these parameters. It shares memory with x.
func gateOf(x []float64) fusion.Gate {
	return fusion.Gate{
		Specialist: x[atSpecialist],
		Generalist: x[atGeneralist],
		Base:       x[atBase],
		Dense:      x[atDense:atLexical],
		Words:      x[atWords],
		Lexical:    x[atLexical:atLate],
		Phrases:    math.Exp(min(x[atPhrases], 20)),
		Near:       math.Exp(min(x[atNear], 20)),
		Tokens:     x[atTokens],
		Late:       x[atLate:],
	}
}

// parametersOf returns the parameters of a gate, the inverse of gateOf. Those that the gate does not have are as in
// gateStart.
func parametersOf(g *fusion.Gate) []float64 {
	x := gateStart()
	x[atSpecialist], x[atGeneralist], x[atBase], x[atWords] = g.Specialist, g.Generalist, g.Base, g.Words
	copy(x[atDense:], g.Dense)
	copy(x[atLexical:], g.Lexical)
	if g.Phrases > 0 {
		x[atPhrases] = math.Log(g.Phrases)
	}
	if g.Near > 0 {
		x[atNear] = math.Log(g.Near)
	}
	if len(g.Late) > 0 {
		x[atTokens] = g.Tokens
		copy(x[atLate:], g.Late)
	}
	return x
}

// interceptsOf returns the indexes of the intercepts that change when the feature of a coefficient is shifted: those of
// all dense kinds for a dense feature, of BM25 for a lexical one, of late interaction for one of its own. coefficient
// is the coefficient's index among the parameters, atDense at least.
func interceptsOf(coefficient int) []int {
	switch {
	case coefficient < atLexical:
		return []int{atSpecialist, atGeneralist, atBase}
	case coefficient < atLate:
		return []int{atWords}
	}
	return []int{atTokens}
}

// standardisedParameters returns the parameters for standardised features of the gate whose parameters for the plain
// features are raw. It is the inverse of gateAt. raw is not changed.
func (p *gateProblem) standardisedParameters(raw []float64) []float64 {
	x := slices.Clone(raw)
	for at := atDense; at < parameters; at++ {
		x[at] = raw[at] * p.deviation[at]
		for _, intercept := range interceptsOf(at) {
			x[intercept] += raw[at] * p.mean[at]
		}
	}
	return x
}

// gateAt returns the gate for plain features whose parameters for standardised features are x. Its weights of phrases,
// nearness and late interaction are zero if no question has such a source. x is not changed.
func (p *gateProblem) gateAt(x []float64) fusion.Gate {
	raw := slices.Clone(x)
	for at := atDense; at < parameters; at++ {
		raw[at] = x[at] / p.deviation[at]
		for _, intercept := range interceptsOf(at) {
			raw[intercept] -= raw[at] * p.mean[at]
		}
	}
	g := gateOf(raw)
	if !p.phrases {
		g.Phrases = 0
	}
	if !p.near {
		g.Near = 0
	}
	if !p.late {
		g.Tokens, g.Late = 0, nil
	}
	return g
}

// Coarse to fine: a fit on a part of the questions comes near the minimum and
// shows how the loss curves there, for an eighth of the work a step; with that,
// all the questions need few steps more. The minimum is that of all of them.
const (
	// coarser is how many questions one stands for.
	coarser = 8
	// fewest is how many forms of questions a part has at least: with fewer, some
	// two dozen parameters fit the part and not the rest.
	fewest = 400
)

// minimise returns the parameters with the lowest loss, and the loss, from start, in at most so many rounds. It fails
// if ctx ends.
func (p *gateProblem) minimise(
	ctx context.Context,
	start []float64,
	rounds int,
) (x []float64, loss float64, err error) {
	part := p.subsample(min(coarser, len(p.questions)/fewest))
	if part == nil {
		return runBFGS(ctx, p.plainCoordinates(start), rounds, exactly)
	}
	// The part's minimum differs by some hundredths from the minimum over all
	// questions, so it need not be exact.
	near, _, err := runBFGS(ctx, part.plainCoordinates(start), rounds, nearly)
	if err != nil {
		return nil, 0, err
	}
	if p.loss(near, nil) > p.loss(start, nil) { // the part does not represent the rest
		return runBFGS(ctx, p.plainCoordinates(start), rounds, exactly)
	}
	return runBFGS(ctx, p.curvedCoordinates(near, part.curvature(near)), rounds, exactly)
}

// subsample returns the problem with one of so many questions (every), in all forms in which it is asked; nil if every
// is below 2. It shares memory with p.
func (p *gateProblem) subsample(every int) *gateProblem {
	if every < 2 {
		return nil
	}
	out := *p
	out.questions = nil
	for at, number := 0, -1; at < len(p.questions); at++ {
		if at == 0 || p.questions[at].index != p.questions[at-1].index {
			number++
		}
		if number%every == 0 {
			out.questions = append(out.questions, p.questions[at])
		}
	}
	return &out
}

// stopRule says when a descent ends: when the loss changes by less than loss for some steps, or its slope is less than
// slope. In coordinates in which it curves by 1, the loss is then at most half the squared slope above the minimum.
type stopRule struct{ loss, slope, roundSlope float64 }

var (
	exactly = stopRule{loss: 1e-6, slope: 1e-6, roundSlope: 1e-4}
	nearly  = stopRule{loss: 3e-4, slope: 1e-3}
)

// runBFGS minimises the loss by BFGS, in the coordinates c, and returns the gate's parameters at the minimum and the
// loss there. It stops after so many rounds (0: no limit) or as until says. It fails if ctx ends.
func runBFGS(ctx context.Context, c *coordinates, rounds int, until stopRule) (x []float64, loss float64, err error) {
	settings := optimize.Settings{MajorIterations: rounds, GradientThreshold: until.slope,
		Converger: &optimize.FunctionConverge{Absolute: until.loss, Iterations: 5}}
	if c.unit > 0 {
		settings.GradientThreshold = until.roundSlope * c.unit
	}
	result, err := optimize.Minimize(optimize.Problem{
		Func:   func(u []float64) float64 { c.evaluateAt(u); return c.value },
		Grad:   func(slope, u []float64) { c.evaluateAt(u); copy(slope, c.slope) },
		Status: func() (optimize.Status, error) { return optimize.NotTerminated, ctx.Err() },
	}, make([]float64, len(c.origin)), &settings, &optimize.BFGS{})
	if ctx.Err() != nil {
		return nil, 0, ctx.Err()
	}
	if result == nil ||
		err != nil && !errors.Is(err, optimize.ErrLinesearcherFailure) && !errors.Is(err, optimize.ErrNoProgress) {
		return nil, 0, fmt.Errorf("fitting the gate: %w", err)
	}
	return c.parametersAt(result.X), result.F, nil
}
