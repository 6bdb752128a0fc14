package calibration

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// negligible is how far below the best a logarithm may be for its exponential
// to add nothing to the sum, in float64.
const negligible = -40

// listwise is how unlikely the candidates that answer are to be drawn by the
// softmax of the scores: -log Σ₊ exp(score) / Σ exp(score), in nats. It makes
// the first passage right. Into slopes, which are as many, go its derivatives by
// the scores. answers are places in scores, one or more, ascending.
func listwise(scores []float64, answers []int, slopes []float64) float64 {
	top, topAnswer := floats.Max(scores), math.Inf(-1)
	for _, row := range answers {
		topAnswer = max(topAnswer, scores[row])
	}
	all, answering := 0.0, 0.0
	for row, score := range scores {
		slopes[row] = 0
		if score -= top; score > negligible {
			slopes[row] = math.Exp(score)
			all += slopes[row]
		}
	}
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
// derivatives.
func lateness(scores []float64, answers []int, slopes []float64) float64 {
	best := answers[0]
	for _, row := range answers {
		if scores[row] > scores[best] {
			best = row
		}
	}
	rank, next := 1.0, 0
	for row, score := range scores {
		if next < len(answers) && row == answers[next] {
			next++
		} else if ahead := score - scores[best]; ahead > negligible {
			rank += sigmoid(ahead)
		}
	}
	next = 0
	for row, score := range scores {
		if next < len(answers) && row == answers[next] {
			next++
		} else if ahead := score - scores[best]; ahead > negligible {
			p := sigmoid(ahead)
			slope := p * (1 - p) / (readDepth + rank)
			slopes[row] += slope
			slopes[best] -= slope
		}
	}
	return math.Log1p(rank / readDepth)
}
