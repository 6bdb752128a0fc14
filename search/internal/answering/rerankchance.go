package answering

import (
	"math"
	"slices"

	"example.org/conclave/search/internal/plan"
	"example.org/conclave/search/internal/run"
)

// RerankSignals names what a reranker that has scored the first passages says of whether the one that it and the
// ranking put first answers. The confidence with it is a function of these.
func RerankSignals() []string { return []string{"confidence", "score", "lead", "same"} }

// RerankedSignals returns the RerankSignals of passages in the order of their ranking, by its scores and what a
// reranker said of them, times a weight, with the confidence without the reranker. top is which of them is the first
// by both. There is at least one passage.
func RerankedSignals(scores, said []float64, weight, confidence float64) (top int, signals []float64) {
	top = firstByBoth(scores, said, weight)
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

// firstByBoth returns the place of the largest sum, and of equal ones the first.
func firstByBoth(scores, said []float64, weight float64) (top int) {
	for i := range scores {
		if scores[i]+weight*said[i] > scores[top]+weight*said[top] {
			top = i
		}
	}
	return top
}

// RerankChance returns the probability that the passage that a ranking and a reranker put first answers, where
// nobody fitted it. Before, the first passage answered with the probability first, and any of those that are answered
// with the probability any. A distribution over the passages that were scored, softmax(β·scores)·any, has one β under
// which the first passage has its probability; the same β with the sums of both gives that of the new first one. So
// it is higher where the reranker agrees, and lower where it does not.
func RerankChance(scores, said []float64, weight, first, any float64) float64 {
	any = max(any, first)
	if any == 0 {
		return 0
	}
	share := func(of []float64, beta float64) float64 {
		most := slices.Max(of)
		sum := 0.0
		for _, x := range of {
			sum += math.Exp(beta * (x - most))
		}
		return 1 / sum
	}
	low, high := 0.0, 1.0
	for share(scores, high) < first/any && high < 1e9 {
		high *= 2
	}
	for range 60 {
		if middle := (low + high) / 2; share(scores, middle) < first/any {
			low = middle
		} else {
			high = middle
		}
	}
	sums := slices.Clone(scores)
	for i := range sums {
		sums[i] += weight * said[i]
	}
	return any * share(sums, high)
}

// rerankedChance puts the confidence of the passage that is the first with the reranker in the place of that without
// it. Of a method whose confidence is no probability by the gate's signals it is not known of another passage.
func (a *Answer) rerankedChance(x *plan.LoadedReranker, scores, said []float64, weight float64) {
	r := &a.Rankings[0]
	if r.Confidence == nil || a.Plan.ReadTwice() && a.readsForConfidence() {
		return // the reader says it, of the passage that is first then
	}
	if !a.Plan.Methods[0].WeighsByQuestion() {
		if firstByBoth(scores, said, weight) != 0 {
			r.Confidence, r.Any = nil, nil
		}
		return
	}
	var sure float64
	if _, signals := RerankedSignals(scores, said, weight, *r.Confidence); x.Confidence != nil && a.Plan.Weighs(x) {
		of, err := x.Confidence.Of(signals)
		if err != nil {
			return // it was calibrated otherwise
		}
		sure = of
	} else {
		any := *r.Confidence
		if r.Any != nil {
			any = *r.Any
		}
		sure = RerankChance(scores, said, weight, *r.Confidence, any)
	}
	r.Confidence = &sure
	if r.Any != nil {
		r.Any = run.Ptr(max(*r.Any, sure))
	}
}

// reranksForConfidence reports whether the confidence will be another one with the reranker.
func (a *Answer) reranksForConfidence() bool {
	first := &a.Rankings[0]
	return first.Confidence != nil && a.Plan.Methods[0].WeighsByQuestion() && a.Plan.Window(len(first.Items)) > 0
}
