package extract

import (
	"math"
	"slices"

	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
)

// AnswerSignals returns the names of the signals of an answer, in the order of reply.Extract.Signals. Its chance is
// computed from these.
func AnswerSignals() []string {
	return []string{"select", "within", "passage", "total", "lead", "rank", "position", "confidence"}
}

// signalsOf returns the signals of found[at], in the order of AnswerSignals. confidence is the ranking's; nil counts as
// one half.
func signalsOf(found []candidate, at int, readings []learned.ReadResult, confidence *float64) []float64 {
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

// ReadSignals returns the names of a reader's signals on whether the first passage answers, in the order of
// Read.Signals. The confidence with the reader is computed from these.
func ReadSignals() []string {
	return []string{"confidence", "select", "lead", "within"}
}

// readSignals returns the signals in the order of ReadSignals. readings are in the order of the ranking and not empty.
// confidence is the ranking's without the reader.
func readSignals(readings []learned.ReadResult, confidence float64) []float64 {
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

// WithConfidence returns a copy of signals, in the order of ReadSignals, with the probability p in the place of the
// confidence.
func WithConfidence(signals []float64, p float64) []float64 {
	out := slices.Clone(signals)
	out[0] = run.LogOdds(p)
	return out
}

// leastLog is the least value of a signal that is a logarithm of a probability.
var leastLog = math.Log(1e-6)

// RerankSignals returns the names of a reranker's signals on whether the passage that is first after reranking answers,
// in the order of RerankedSignals. The confidence with the reranker is computed from these.
func RerankSignals() []string { return []string{"confidence", "score", "lead", "same"} }

// RerankedSignals returns the signals of a reranking, in the order of RerankSignals, and top, the index of the passage
// that is first afterwards. scores are the passages' in the ranking, best first, rerankScores the reranker's, one for
// each passage, weight is the reranker's weight, and confidence the ranking's. Passages beyond WithinReach change no
// signal unless they come first, so that it does not matter whether they were scored. It panics without passages.
func RerankedSignals(scores, rerankScores []float64, weight, confidence float64) (top int, signals []float64) {
	top = FirstByBoth(scores, rerankScores, weight)
	others := math.Inf(-1)
	for i := range max(WithinReach(scores, weight), 1) {
		if i != top {
			others = max(others, rerankScores[i])
		}
	}
	lead := 0.0
	if !math.IsInf(others, -1) {
		lead = rerankScores[top] - others
	}
	same := 0.0
	if top == 0 {
		same = 1
	}
	return top, []float64{run.LogOdds(confidence), rerankScores[top], lead, same}
}

// reach is a difference of a reranker's scores, in log-odds, that is taken for the greatest by which it prefers one
// passage to another.
const reach = 5

// WithinReach returns how many of the passages of a ranking, with these scores, best first, a reranker with this weight
// may put first: those whose scores are no more than reach·weight below the first one's. It is 0 without scores.
func WithinReach(scores []float64, weight float64) (n int) {
	for n < len(scores) && scores[n] >= scores[0]-reach*weight {
		n++
	}
	return n
}

// FirstByBoth returns the index i with the greatest scores[i] + weight·rerankScores[i], the first of equals; 0 without
// scores.
func FirstByBoth(scores, rerankScores []float64, weight float64) (top int) {
	for i := range scores {
		if scores[i]+weight*rerankScores[i] > scores[top]+weight*rerankScores[top] {
			top = i
		}
	}
	return top
}
