package calibration

import (
	"math"
	"runtime"
	"slices"

	"example.org/conclave/fusion"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"
)

// gateForm is a question as the loss reads it: its dense sources, each with its column, and the candidates' scores.
type gateForm struct {
	index      int // the place of the question among those given
	sources    []fusion.ObservedSource
	features   fusion.Features
	scores     [][]float64 // of a source, by candidate
	candidates int
	answers    []int        // the candidates that answer, ascending
	prior      *fusion.Gate // has the coefficients that are not fitted (keepUnfitted); nil: they are 0
	scales     []float64    // the factors of the sources' scores (fusion.Gate.ScaleOf); nil: 1
}

// gateProblem is the loss of a gate over questions, as a function of the gate's parameters.
type gateProblem struct {
	questions []gateForm
	ridge     float64
	// origin is what the ridge pulls to: everywhere, or all but the intercepts of the
	// logarithmic weights.
	origin     []float64
	everywhere bool
	phrases    bool      // some question has them
	near       bool      // some question has nearness
	late       bool      // some question has late interaction
	mean       []float64 // of the features, at their coefficients
	deviation  []float64
}

// loss returns the mean loss of the questions plus the ridge at x. It stores the gradient in grad unless that is nil.
func (p *gateProblem) loss(x, grad []float64) float64 {
	for i := range grad {
		grad[i] = 0
	}
	sum := 0.0
	for _, part := range p.lossParts(x, grad != nil) {
		sum += part.loss
		for i, g := range part.grad {
			grad[i] += g
		}
	}
	n := float64(len(p.questions))
	sum /= n
	for i := range x {
		if grad != nil {
			grad[i] /= n
		}
		if i == atSharpness || !p.everywhere && (i == atWords || i == atTokens) {
			continue
		}
		from := x[i] - p.origin[i]
		sum += p.ridge * from * from
		if grad != nil {
			grad[i] += 2 * p.ridge * from
		}
	}
	return sum
}

// partQuestions is how many questions one part of the loss is about. The parts
// are added in their order, so that the sum does not depend on how many
// processors there are.
const partQuestions = 128

// lossPart is the sum of the losses of some of the questions, and its gradient.
type lossPart struct {
	loss float64
	grad []float64 // nil when it was not asked for
}

// lossParts returns the summed losses of groups of partQuestions questions, in their order, each with its gradient if
// withGradient is set. They are computed on all processors.
func (p *gateProblem) lossParts(x []float64, withGradient bool) []lossPart {
	parts := make([]lossPart, (len(p.questions)+partQuestions-1)/partQuestions)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for n := range parts {
		group.Go(func() error {
			var s lossScratch
			part := &parts[n]
			if withGradient {
				part.grad = make([]float64, len(x))
			}
			for i := n * partQuestions; i < min((n+1)*partQuestions, len(p.questions)); i++ {
				part.loss += p.questions[i].loss(x, part.grad, &s)
			}
			return nil
		})
	}
	_ = group.Wait() // no part fails
	return parts
}

// lossScratch is memory that is reused from one question to the next.
type lossScratch struct {
	weights                 []fusion.Source
	z, errors, odds, slopes []float64
}

// reuseSlice returns a slice of n numbers, not cleared, in the memory of *s if that is large enough.
func reuseSlice(s *[]float64, n int) []float64 {
	*s = slices.Grow((*s)[:0], n)[:n]
	return *s
}

// loss returns the loss (listwise plus lateness) of one question for the parameters x, and adds its gradient to grad
// unless that is nil. s is memory for the calculation; calls at the same time must not share it.
func (q *gateForm) loss(x, grad []float64, s *lossScratch) float64 {
	gate := gateOf(x)
	keepUnfitted(&gate, q.prior)
	s.weights = gate.Weigh(s.weights, q.sources, q.features)
	sharpness := math.Exp(min(x[atSharpness], 20))
	z := reuseSlice(&s.z, q.candidates)
	clear(z)
	for i, scores := range q.scores {
		floats.AddScaled(z, sharpness*q.scaleOf(i)*s.weights[i].Weight, scores)
	}
	errors := reuseSlice(&s.errors, q.candidates) // d loss / d z
	r := rankedBy(z, q.answers, reuseSlice(&s.odds, q.candidates))
	loss := r.listwise(errors)
	loss += r.lateness(errors)
	if grad == nil {
		return loss
	}
	grad[atSharpness] += floats.Dot(errors, z)
	slopes := reuseSlice(&s.slopes, len(q.scores)) // d loss / d weight
	mean := 0.0                                    // of the dense sources' slopes, by their shares
	for i, scores := range q.scores {
		slopes[i] = sharpness * q.scaleOf(i) * floats.Dot(errors, scores)
		if q.sources[i].Kind.Dense() {
			mean += s.weights[i].Weight * slopes[i]
		}
	}
	dense, words := 0, 0.0
	for i, source := range q.sources {
		weight := s.weights[i].Weight
		switch source.Kind { // a softmax of the dense ones, exponentials of the others
		case fusion.Lexical:
			words += weight * slopes[i]
		case fusion.Phrases:
			words += weight * slopes[i]
			grad[atPhrases] += weight * slopes[i]
		case fusion.Near:
			words += weight * slopes[i]
			grad[atNear] += weight * slopes[i]
		case fusion.Late:
			grad[atTokens] += weight * slopes[i]
			floats.AddScaled(grad[atLate:], weight*slopes[i], q.features.Late)
		default:
			slope := weight * (slopes[i] - mean)
			grad[interceptOf(source.Kind)] += slope
			floats.AddScaled(grad[atDense:atLexical], slope, q.features.Dense[dense])
			dense++
		}
	}
	if q.features.Lexical != nil {
		grad[atWords] += words
		floats.AddScaled(grad[atLexical:atLate], words, q.features.Lexical)
	}
	return loss
}

// scaleOf returns the factor of the scores of the source at an index; 1 without scales.
func (q *gateForm) scaleOf(at int) float64 {
	if q.scales == nil {
		return 1
	}
	return q.scales[at]
}

// keepUnfitted sets those coefficients of a gate that weigh words and are not fitted to prior's: few collections'
// questions have such words, and of symbols a collection has one share. It changes nothing if prior is nil.
func keepUnfitted(g, prior *fusion.Gate) {
	if prior != nil {
		g.Exact, g.Symbols, g.BesideNear, g.ForeignWords = prior.Exact, prior.Symbols, prior.BesideNear, prior.ForeignWords
	}
}

// interceptOf returns the index, among the gate's parameters, of the intercept of a kind of dense source. Kinds other
// than Specialist and Base have that of the generalists.
func interceptOf(k fusion.SourceKind) int {
	switch k {
	case fusion.Specialist:
		return atSpecialist
	case fusion.Base:
		return atBase
	}
	return atGeneralist
}

// farAhead is up to where fusion.Exponentials goes.
const farAhead = 40

// rankedScores are the scores of a question's candidates with which of them answer, as both losses read them.
type rankedScores struct {
	scores  []float64
	answers []int // places in scores, one or more, ascending
	best    int   // of the answers, the one with the highest score
	// odds are exp(score - the best answer's), at most exp(farAhead). The
	// exponentials are nearly all that fitting does: there is one a candidate.
	odds []float64
}

// rankedBy returns the input of both losses for a question: its candidates' scores, which of them answer, and their
// odds against the best one that answers. answers are indexes of scores and must not be empty. The odds are written
// into memory, which must be as long as scores. The result shares all three slices.
func rankedBy(scores []float64, answers []int, memory []float64) rankedScores {
	best := answers[0]
	for _, row := range answers {
		if scores[row] > scores[best] {
			best = row
		}
	}
	fusion.Exponentials(memory, scores, scores[best])
	return rankedScores{scores, answers, best, memory}
}

// listwise returns a loss that is low if the first passage answers: -log Σ₊ exp(score) / Σ exp(score), in nats, where
// Σ₊ is over the candidates that answer. It overwrites slopes, which must be as long as the scores, with the
// derivatives by the scores.
func (r *rankedScores) listwise(slopes []float64) float64 {
	all := r.odds
	base := r.scores[r.best]
	answering := 0.0
	top := base
	for _, score := range r.scores {
		top = max(top, score)
	}
	if top-base > farAhead {
		fusion.Exponentials(slopes, r.scores, top)
		all, base = slopes, top
	}
	for _, row := range r.answers {
		answering += r.odds[row]
	}
	sum := floats.Sum(all)
	floats.ScaleTo(slopes, 1/sum, all)
	for _, row := range r.answers {
		slopes[row] -= r.odds[row] / answering
	}
	return (math.Log(sum) + base) - (math.Log(answering) + r.scores[r.best])
}

// readDepth is how many passages of an answer a reader looks at.
const readDepth = 20

// lateness returns a loss that is low if a passage among the first twenty answers: log(1 + r/20), where r is the rank
// of the best candidate that answers, made smooth: 1 and, for each candidate that does not answer, the logistic
// function of how far its score is ahead. It adds the derivatives by the scores to slopes. It overwrites r.odds, so
// call listwise before it.
func (r *rankedScores) lateness(slopes []float64) float64 {
	for _, row := range r.answers {
		r.odds[row] = 0
	}
	rank := 1.0
	chances := r.odds
	for row, odds := range r.odds {
		chances[row] = odds / (1 + odds)
		rank += chances[row]
	}
	by := 1 / (readDepth + rank)
	back := 0.0
	for row, chance := range chances {
		slope := by * chance * (1 - chance)
		slopes[row] += slope
		back += slope
	}
	slopes[r.best] -= back
	return math.Log1p(rank / readDepth)
}
