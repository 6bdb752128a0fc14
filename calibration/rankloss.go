package calibration

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"conclave/fusion"
)

// listwise is how unlikely the candidates that answer are to be drawn by the
// softmax of the scores: -log Σ₊ exp(score) / Σ exp(score), in nats. It makes
// the first passage right. Into slopes, which are as many, go its derivatives by
// the scores. answers are places in scores, one or more, ascending.
func listwise(scores []float64, answers []int, slopes []float64) float64 {
	top, topAnswer := scores[0], scores[answers[0]]
	for _, score := range scores {
		top = max(top, score)
	}
	for _, row := range answers {
		topAnswer = max(topAnswer, scores[row])
	}
	fusion.Exponentials(slopes, scores, top)
	all, answering := floats.Sum(slopes), 0.0
	for _, row := range answers {
		answering += math.Exp(scores[row] - topAnswer)
	}
	floats.Scale(1/all, slopes)
	for _, row := range answers {
		slopes[row] -= math.Exp(scores[row]-topAnswer) / answering
	}
	return (math.Log(all) + top) - (math.Log(answering) + topAnswer)
}

// readDepth is how many passages of an answer a reader looks at.
const readDepth = 20

// lateness is log(1 + r/20) of the rank r of the first candidate that answers,
// made smooth: 1 and, for each that does not answer, the logistic function of how
// far it is ahead. What is first already costs next to nothing, and so does a step
// far behind the twentieth: it makes the first twenty right. To slopes it adds its
// derivatives. ahead is memory for as many numbers.
func lateness(scores []float64, answers []int, slopes, ahead []float64) float64 {
	best := answers[0]
	for _, row := range answers {
		if scores[row] > scores[best] {
			best = row
		}
	}
	fusion.Exponentials(ahead, scores, scores[best])
	for _, row := range answers {
		ahead[row] = 0
	}
	rank := 1.0
	for row, odds := range ahead {
		chance := odds / (1 + odds)
		ahead[row] = chance
		rank += chance
	}
	by, back := 1/(readDepth+rank), 0.0
	for row, chance := range ahead {
		slope := by * chance * (1 - chance)
		slopes[row] += slope
		back += slope
	}
	slopes[best] -= back
	return math.Log1p(rank / readDepth)
}
