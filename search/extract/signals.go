package extract

import (
	"math"
	"slices"

	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
)

// AnswerSignals names what is known of an answer, in the order of Extract.Signals. Its
// chance is a function of these.
func AnswerSignals() []string {
	return []string{"select", "within", "passage", "total", "lead", "rank", "position", "confidence"}
}

// signalsOf returns the signals of the answer at among those found.
func signalsOf(found []candidate, at int, readings []learned.Reading, confidence *float64) []float64 {
	log := func(p float64) float64 { return max(math.Log(p), leastLog) }
	c := found[at]
	next := 0.0
	for i, other := range found {
		if i != at {
			next = max(next, other.total)
		}
	}
	sure := 0.0 // as likely as not, where it is not known
	if confidence != nil {
		sure = run.LogOdds(*confidence)
	}
	return []float64{
		readings[c.passage].Select, log(c.within), log(c.joint) - log(c.within), log(c.total), log(c.total) - log(next),
		math.Log1p(float64(at)), math.Log1p(float64(c.passage)), sure,
	}
}

// ReadSignals names what a reader that has read the first passages says of whether the
// first one answers. The confidence with it is a function of these.
func ReadSignals() []string {
	return []string{"confidence", "select", "lead", "within"}
}

// readSignals returns the signals of a ranking that was read, with its confidence without
// the reader. There is at least one reading.
func readSignals(readings []learned.Reading, confidence float64) []float64 {
	first := readings[0]
	others := math.Inf(-1)
	for _, r := range readings[1:] {
		others = max(others, r.Select)
	}
	lead := 0.0
	if len(readings) > 1 {
		lead = first.Select - others
	}
	within := leastLog
	if len(first.Spans) > 0 {
		within = max(first.Spans[0].Score-first.Starts-first.Ends, leastLog)
	}
	return []float64{run.LogOdds(confidence), first.Select, lead, within}
}

// WithConfidence returns a copy of ReadSignals with the probability p instead of the confidence.
func WithConfidence(signals []float64, p float64) []float64 {
	out := slices.Clone(signals)
	out[0] = run.LogOdds(p)
	return out
}

// leastLog is the least logarithm of a probability that is a signal.
var leastLog = math.Log(1e-6)

// RerankSignals names what a reranker that has scored the first passages says of whether the one that it and the
// ranking put first answers. The confidence with it is a function of these.
func RerankSignals() []string { return []string{"confidence", "score", "lead", "same"} }

// RerankedSignals returns the RerankSignals of passages in the order of their ranking, by its scores and what a
// reranker said of them, times a weight, with the confidence without the reranker. top is which of them is the first
// by both. There is at least one passage.
func RerankedSignals(scores, said []float64, weight, confidence float64) (top int, signals []float64) {
	top = FirstByBoth(scores, said, weight)
	others := math.Inf(-1)
	for i, x := range said {
		if i != top {
			others = max(others, x)
		}
	}
	lead := 0.0
	if len(said) > 1 {
		lead = said[top] - others
	}
	same := 0.0
	if top == 0 {
		same = 1
	}
	return top, []float64{run.LogOdds(confidence), said[top], lead, same}
}

// FirstByBoth returns the place of the largest sum, and of equal ones the first.
func FirstByBoth(scores, said []float64, weight float64) (top int) {
	for i := range scores {
		if scores[i]+weight*said[i] > scores[top]+weight*said[top] {
			top = i
		}
	}
	return top
}
