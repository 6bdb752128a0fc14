package calibration

import (
	"math"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/floats"

	"conclave/fusion"
)

// gateQuestion is a question in the form that the loss reads: the sources that
// were asked alone, numbered anew.
type gateQuestion struct {
	of         int // the place of the question among those given
	dense      []denseSource
	lexical    int // which source, or -1
	phrases    int // likewise
	late       int // likewise
	words      []float64
	tokens     []float64   // the features of late
	scores     [][]float64 // of a source, by candidate
	candidates int
	answers    []int // the candidates that answer, ascending
}

type denseSource struct {
	source    int
	intercept int // of its kind, among the parameters
	features  []float64
}

// interceptOf is where the intercept of a kind of dense sources is.
func interceptOf(k fusion.Kind) int {
	switch k {
	case fusion.Specialist:
		return atSpecialist
	case fusion.Base:
		return atBase
	}
	return atGeneralist
}

// loss is the mean over questions, plus the ridge; with grad it also fills in
// the gradient.
func (p *gateProblem) loss(x, grad []float64) float64 {
	for i := range grad {
		grad[i] = 0
	}
	sum := 0.0
	for _, part := range p.parts(x, grad != nil) {
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

// lossPart is what some of the questions add to the loss.
type lossPart struct {
	loss float64
	grad []float64 // nil when it was not asked for
}

// parts computes the parts on all processors.
func (p *gateProblem) parts(x []float64, withGradient bool) []lossPart {
	parts := make([]lossPart, (len(p.questions)+partQuestions-1)/partQuestions)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(parts)) {
		workers.Go(func() {
			var s lossScratch
			for n := range next {
				part := &parts[n]
				if withGradient {
					part.grad = make([]float64, len(x))
				}
				for i := n * partQuestions; i < min((n+1)*partQuestions, len(p.questions)); i++ {
					part.loss += p.questions[i].loss(x, part.grad, &s)
				}
			}
		})
	}
	for n := range parts {
		next <- n
	}
	close(next)
	workers.Wait()
	return parts
}

// lossScratch is memory that one question after the other uses.
type lossScratch struct{ weights, share, z, errors, odds, slope []float64 }

// numbers is a slice of n numbers, whichever, in the memory of s.
func numbers(s *[]float64, n int) []float64 {
	if cap(*s) < n {
		*s = make([]float64, n)
	}
	return (*s)[:n]
}

// zeros is a slice of n zeros in the memory of s.
func zeros(s *[]float64, n int) []float64 {
	out := numbers(s, n)
	clear(out)
	return out
}

// loss of one question; adds its gradient to grad unless that is nil.
func (q *gateQuestion) loss(x, grad []float64, s *lossScratch) float64 {
	weights := zeros(&s.weights, len(q.scores))
	share := zeros(&s.share, len(q.dense))
	highest := math.Inf(-1)
	for e, d := range q.dense {
		share[e] = x[d.intercept] + dot(x[atDense:atLexical], d.features)
		highest = max(highest, share[e])
	}
	total := 0.0
	for e := range share {
		share[e] = math.Exp(share[e] - highest)
		total += share[e]
	}
	for e, d := range q.dense {
		share[e] /= total
		weights[d.source] = share[e]
	}
	if q.lexical >= 0 {
		weights[q.lexical] = math.Exp(min(x[atWords]+dot(x[atLexical:atLate], q.words), 20))
		if q.phrases >= 0 {
			weights[q.phrases] = weights[q.lexical] * math.Exp(min(x[atPhrases], 20))
		}
	}
	if q.late >= 0 {
		weights[q.late] = math.Exp(min(x[atTokens]+dot(x[atLate:], q.tokens), 20))
	}
	sharpness := math.Exp(min(x[atSharpness], 20))

	z := zeros(&s.z, q.candidates)
	for source, scores := range q.scores {
		floats.AddScaled(z, sharpness*weights[source], scores)
	}
	errors := numbers(&s.errors, q.candidates) // d loss / d z
	r := rankedBy(z, q.answers, numbers(&s.odds, q.candidates))
	loss := r.listwise(errors)
	loss += r.lateness(errors)
	if grad == nil {
		return loss
	}
	grad[atSharpness] += floats.Dot(errors, z)
	slope := zeros(&s.slope, len(q.scores)) // d loss / d weight
	for source, scores := range q.scores {
		slope[source] = sharpness * floats.Dot(errors, scores)
	}
	mean := 0.0
	for e, d := range q.dense {
		mean += share[e] * slope[d.source]
	}
	for e, d := range q.dense {
		g := share[e] * (slope[d.source] - mean)
		grad[d.intercept] += g
		for j, v := range d.features {
			grad[atDense+j] += g * v
		}
	}
	if q.lexical >= 0 {
		g := slope[q.lexical] * weights[q.lexical]
		if q.phrases >= 0 {
			own := slope[q.phrases] * weights[q.phrases]
			grad[atPhrases] += own
			g += own
		}
		grad[atWords] += g
		for j, v := range q.words {
			grad[atLexical+j] += g * v
		}
	}
	if q.late >= 0 {
		g := slope[q.late] * weights[q.late]
		grad[atTokens] += g
		for j, v := range q.tokens {
			grad[atLate+j] += g * v
		}
	}
	return loss
}
