package calibration

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"example.org/conclave/fusion"
)

// farAhead is up to where fusion.Exponentials goes.
const farAhead = 40

// ranked are the scores of a question's candidates, as both losses read them.
type ranked struct {
	scores  []float64
	answers []int // places in scores, one or more, ascending
	best    int   // of the answers, the one with the highest score
	// odds are exp(score - the best answer's), at most exp(farAhead). The
	// exponentials are nearly all that fitting does: there is one a candidate.
	odds []float64
}

// rankedBy puts the odds into memory for as many numbers as there are scores.
func rankedBy(scores []float64, answers []int, memory []float64) ranked {
	best := answers[0]
	for _, row := range answers {
		if scores[row] > scores[best] {
			best = row
		}
	}
	fusion.Exponentials(memory, scores, scores[best])
	return ranked{scores, answers, best, memory}
}

// listwise returns how unlikely the candidates that answer are to be drawn by the
// softmax of the scores: -log Σ₊ exp(score) / Σ exp(score), in nats. It makes
// the first passage right. Into slopes, which are as many, go its derivatives by
// the scores.
func (r *ranked) listwise(slopes []float64) float64 {
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

// lateness returns log(1 + r/20) of the rank r of the first candidate that answers,
// made smooth: 1 and, for each that does not answer, the logistic function of how
// far it is ahead. What is first already costs next to nothing, and so does a step
// far behind the twentieth: it makes the first twenty right. To slopes it adds its
// derivatives. It overwrites the odds.
func (r *ranked) lateness(slopes []float64) float64 {
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
