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
	// Rounds is the most steps of the optimiser. 0: 200.
	Rounds int
	// Specialists is how many specialists are asked, the most familiar with each
	// question. 0: all.
	Specialists int
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
	if o.Ridge == 0 {
		o.Ridge = 1e-3
	}
	if o.Rounds == 0 {
		o.Rounds = 200
	}
	p := gateProblem{ridge: o.Ridge}
	for i := range questions {
		for _, q := range []*GateQuestion{&questions[i], abroad(&questions[i])} {
			if q == nil {
				continue
			}
			if err := p.add(i, q.asked(o.Specialists)); err != nil {
				return GateFit{}, fmt.Errorf("question %q: %w", q.ID, err)
			}
		}
	}
	if len(p.questions) == 0 {
		return GateFit{}, fmt.Errorf("none of %d questions has a passage that answers among its candidates: there is nothing to fit a gate on", len(questions))
	}
	p.standardise()

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

// abroad is the question as it would be asked where its most familiar expert
// is missing: most users' questions are like none that an expert knows, and
// development questions of the experts' own domains never show that. Nil with
// fewer than three specialists.
func abroad(q *GateQuestion) *GateQuestion {
	nearest, specialists := -1, 0
	for i, s := range q.Sources {
		if s.Kind != fusion.Specialist {
			continue
		}
		specialists++
		if nearest < 0 || s.Familiarity > q.Sources[nearest].Familiarity {
			nearest = i
		}
	}
	if specialists < 3 {
		return nil
	}
	out := *q
	out.Sources = append(append([]fusion.Observed(nil), q.Sources[:nearest]...), q.Sources[nearest+1:]...)
	return &out
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
	phrases   bool      // some question has them
	late      bool      // some question has late interaction
	mean      []float64 // of the features, from atDense on
	deviation []float64
}

// add takes up the question at a place of those given.
func (p *gateProblem) add(at int, q *GateQuestion) error {
	features := fusion.FeaturesOf(q.Table, q.Sources)
	g := gateQuestion{of: at, lexical: -1, phrases: -1, late: -1, scores: make([][]float64, len(q.Sources)), words: features.Lexical, tokens: features.Late}
	columns := make([]int, len(q.Sources))
	for i, s := range q.Sources {
		if s.Column < 0 || s.Column >= q.Table.Sources() {
			return fmt.Errorf("source %d of %d", s.Column, q.Table.Sources())
		}
		columns[i] = s.Column
		switch s.Kind {
		case fusion.Lexical:
			g.lexical = i
		case fusion.Phrases:
			g.phrases, p.phrases = i, true
		case fusion.Late:
			g.late, p.late = i, true
		default:
			g.dense = append(g.dense, denseSource{i, interceptOf(s.Kind), features.Dense[len(g.dense)]})
		}
	}
	q.Table.Each(fusion.Exact, func(row int, scores []float64) {
		if q.Table.Best(row, columns) == 0 { // none of these sources found it
			return
		}
		if q.Relevant[q.Table.Ordinal(row)] > 0 {
			g.answers = append(g.answers, g.candidates)
		}
		for i, column := range columns {
			g.scores[i] = append(g.scores[i], scores[column])
		}
		g.candidates++
	})
	if len(g.answers) > 0 {
		p.questions = append(p.questions, g)
	}
	return nil
}

// standardise gives every feature mean 0 and deviation 1 over the questions,
// so that one ridge fits all; a feature that never changes is left alone.
func (p *gateProblem) standardise() {
	n := parameters - atDense
	p.mean, p.deviation = make([]float64, n), make([]float64, n)
	var rows, squares = make([]float64, n), make([]float64, n)
	each := func(visit func(at int, value *float64)) {
		for i := range p.questions {
			for _, d := range p.questions[i].dense {
				for j := range d.features {
					visit(j, &d.features[j])
				}
			}
			for j := range p.questions[i].words {
				visit(denseCount+j, &p.questions[i].words[j])
			}
			for j := range p.questions[i].tokens {
				visit(denseCount+lexicalCount+j, &p.questions[i].tokens[j])
			}
		}
	}
	each(func(at int, v *float64) { rows[at]++; p.mean[at] += *v })
	for j := range p.mean {
		p.mean[j] /= max(rows[j], 1)
	}
	each(func(at int, v *float64) { d := *v - p.mean[at]; squares[at] += d * d })
	for j := range squares {
		if p.deviation[j] = math.Sqrt(squares[j] / max(rows[j], 1)); p.deviation[j] < 1e-9 {
			p.deviation[j] = 1
		}
	}
	each(func(at int, v *float64) { *v = (*v - p.mean[at]) / p.deviation[at] })
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
