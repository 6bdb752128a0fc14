package calibration

import (
	"context"
	"fmt"
	"math"
	"slices"

	"conclave/fusion"
	"conclave/rank"
)

// GateQuestion is a question with what the sources found for it.
type GateQuestion struct {
	ID string
	// Table has the hits of all sources, completed by their true scores.
	Table *fusion.Candidates
	// Sources are the observed sources, each with its column of Table.
	Sources []fusion.Observed
	// Relevant are the grades of the passages that answer, found or not.
	Relevant map[rank.Ordinal]float64
	// Known is the share of the question's words that the encoders know.
	Known float64
}

// asked is the question when only so many specialists are asked, the most
// familiar with it. 0: all.
func (q *GateQuestion) asked(specialists int) *GateQuestion {
	if specialists == 0 {
		return q
	}
	out := *q
	out.Sources = fusion.MostFamiliar(q.Sources, specialists)
	return &out
}

// GateOptions are what FitGate leaves open.
type GateOptions struct {
	// Ridge is the penalty on the squared coefficients of standardised
	// features, in nats per question. 0: 1e-3.
	Ridge float64
	// Rounds is the most steps of the optimiser: on a part of the questions, and
	// then on all of them. 0: 200.
	Rounds int
	// Specialists is how many specialists are asked, the most familiar with each
	// question. 0: all.
	Specialists int
	// Towards is the gate that few questions leave as it is: instead of the Ridge,
	// coefficients and intercepts are pulled to it by (Pull / questions)², so that few
	// hardly move it and thousands decide alone. WithoutLate takes its place for questions without late interaction. Nil:
	// equal weights.
	Towards, WithoutLate *fusion.Gate
	// 0: UsualPull.
	Pull float64
}

// UsualPull was chosen by gates fitted on random parts of the development questions
// (docs/experts.md).
const UsualPull = 150

// towards is the gate that a fit on such questions is pulled to, or nil.
func (o *GateOptions) towards(late bool) *fusion.Gate {
	if !late && o.WithoutLate != nil {
		return o.WithoutLate
	}
	return o.Towards
}

// GateFit is a gate and how good it is on the questions it was fitted on.
type GateFit struct {
	Gate fusion.Gate
	// Loss is the questions' mean loss and the ridge's; Questions is how many had a
	// passage that answers among the candidates.
	Loss      float64
	Questions int
}

// FitGate finds the gate under which the passages that answer are the most
// likely to be first, and among the first twenty: the least mean of listwise plus
// lateness of κ · score, over a question's candidates. The sharpness κ is fitted
// along and dropped (it does not change an order). Quasi-Newton from equal
// weights, so the result does not depend on chance.
func FitGate(ctx context.Context, questions []GateQuestion, o GateOptions) (GateFit, error) {
	forms, err := formsOf(questions, o.Specialists)
	if err != nil {
		return GateFit{}, err
	}
	return fitForms(ctx, forms, o)
}

// fitForms fits a gate on questions in the forms in which they are asked.
func fitForms(ctx context.Context, forms []askedForms, o GateOptions) (GateFit, error) {
	if o.Ridge == 0 {
		o.Ridge = 1e-3
	}
	if o.Rounds == 0 {
		o.Rounds = 200
	}
	if o.Pull == 0 {
		o.Pull = UsualPull
	}
	p := problemOf(forms, o.Ridge)
	if len(p.questions) == 0 {
		return GateFit{}, fmt.Errorf("none of %d questions has a passage that answers among its candidates: there is nothing to fit a gate on", len(forms))
	}
	if prior := o.towards(p.late); prior != nil {
		if err := prior.Check(); err != nil {
			return GateFit{}, fmt.Errorf("the gate to begin with: %w", err)
		}
		pull := o.Pull / float64(len(forms))
		p.origin, p.ridge, p.everywhere = p.parametersOf(prior), pull*pull, true
	}
	x, loss, err := p.minimise(ctx, gateStart(), o.Rounds)
	if err != nil {
		return GateFit{}, err
	}
	fit := GateFit{Gate: p.gate(x), Loss: loss, Questions: len(p.questions)}
	return fit, fit.Gate.Check()
}

// WithoutLate are the questions as they would be asked where there is no late
// interaction, which has found none of their candidates. Nil where there is none.
func WithoutLate(questions []GateQuestion) []GateQuestion {
	some := false
	out := slices.Clone(questions)
	for i := range out {
		q := &out[i]
		q.Sources = slices.DeleteFunc(slices.Clone(q.Sources), func(s fusion.Observed) bool { return s.Kind == fusion.Late })
		some = some || len(q.Sources) < len(questions[i].Sources)
	}
	if !some {
		return nil
	}
	return out
}

// UsualPhrases is the weight of phrases beside BM25's that the fit begins with,
// and that its ridge pulls to where questions say little.
const UsualPhrases = 0.6

// Where the parameters are.
const (
	atSpecialist = iota
	atGeneralist
	atBase
	atWords
	atSharpness
	atPhrases // logarithm of their weight divided by BM25's
	atTokens  // intercept of late interaction's logarithmic weight
	atDense
)

var (
	denseCount   = len(fusion.DenseFeatureNames())
	lexicalCount = len(fusion.LexicalFeatureNames())
	lateCount    = len(fusion.LateFeatureNames())
	atLexical    = atDense + denseCount
	atLate       = atLexical + lexicalCount
	parameters   = atLate + lateCount
)

// gateStart are the parameters that a fit begins with: equal weights.
func gateStart() []float64 {
	x := make([]float64, parameters)
	x[atWords], x[atSharpness], x[atPhrases] = math.Log(0.03), math.Log(20), math.Log(UsualPhrases)
	return x
}

// gateProblem is the loss of a gate over questions.
type gateProblem struct {
	questions []gateQuestion
	ridge     float64
	// origin is what the ridge pulls to: everywhere, or all but the intercepts of the
	// logarithmic weights.
	origin     []float64
	everywhere bool
	phrases    bool      // some question has them
	late       bool      // some question has late interaction
	mean       []float64 // of the features, from atDense on
	deviation  []float64
}

// parametersOf are the parameters with which gate gives g again.
func (p *gateProblem) parametersOf(g *fusion.Gate) []float64 {
	x := gateStart()
	x[atSpecialist], x[atGeneralist], x[atBase], x[atWords] = g.Specialist, g.Generalist, g.Base, g.Words
	for j, c := range g.Dense {
		x[atDense+j] = c * p.deviation[j]
		for _, at := range []int{atSpecialist, atGeneralist, atBase} {
			x[at] += c * p.mean[j]
		}
	}
	for j, c := range g.Lexical {
		at := denseCount + j
		x[atLexical+j], x[atWords] = c*p.deviation[at], x[atWords]+c*p.mean[at]
	}
	if g.Phrases > 0 {
		x[atPhrases] = math.Log(g.Phrases)
	}
	if len(g.Late) > 0 {
		x[atTokens] = g.Tokens
	}
	for j, c := range g.Late {
		at := denseCount + lexicalCount + j
		x[atLate+j], x[atTokens] = c*p.deviation[at], x[atTokens]+c*p.mean[at]
	}
	return x
}

// gate is the gate with the parameters, for features as they are.
func (p *gateProblem) gate(x []float64) fusion.Gate {
	g := fusion.Gate{
		Specialist: x[atSpecialist], Generalist: x[atGeneralist], Base: x[atBase], Words: x[atWords],
		Dense: make([]float64, denseCount), Lexical: make([]float64, lexicalCount),
	}
	for j := range g.Dense {
		g.Dense[j] = x[atDense+j] / p.deviation[j]
		shift := g.Dense[j] * p.mean[j]
		g.Specialist -= shift
		g.Generalist -= shift
		g.Base -= shift
	}
	for j := range g.Lexical {
		g.Lexical[j] = x[atLexical+j] / p.deviation[denseCount+j]
		g.Words -= g.Lexical[j] * p.mean[denseCount+j]
	}
	if p.phrases {
		g.Phrases = math.Exp(x[atPhrases])
	}
	if p.late {
		g.Tokens, g.Late = x[atTokens], make([]float64, lateCount)
		for j := range g.Late {
			at := denseCount + lexicalCount + j
			g.Late[j] = x[atLate+j] / p.deviation[at]
			g.Tokens -= g.Late[j] * p.mean[at]
		}
	}
	return g
}
