package answering

import (
	"math"
	"slices"

	"example.org/conclave/search/extract"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
)

// RerankChance returns the probability that the passage that a ranking and a reranker together put first answers, if no
// such probability was fitted. scores are the ranking's, rerankScores the reranker's, and weight is the reranker's
// weight. first is the probability that the passage which was first before answers, and any that some passage does; if
// any is lower than first, first counts. The result is at most any, and 0 if both are 0. There has to be at least one
// score.
//
// It takes the β for which any·softmax(β·scores) gives the first passage its probability, and applies it to scores +
// weight·rerankScores. So the result is higher if the reranker agrees, and lower if it does not.
func RerankChance(scores, rerankScores []float64, weight, first, any float64) float64 {
	any = max(any, first)
	if any == 0 {
		return 0
	}
	share := func(numbers []float64, beta float64) float64 {
		most := slices.Max(numbers)
		sum := 0.0
		for _, x := range numbers {
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
		sums[i] += weight * rerankScores[i]
	}
	return any * share(sums, high)
}

// setRerankedChance replaces the confidence by that of the passage that is first after reranking: by the reranker's
// calibration if it applies, else by RerankChance. For a method other than the gate the confidence becomes nil if
// another passage is first. It changes nothing if there is no confidence, or if a reader will set it afterwards.
func (a *Answer) setRerankedChance(x *learned.LoadedReranker, scores, rerankScores []float64, weight float64) {
	r := &a.Rankings[0]
	if r.Confidence == nil || a.Plan.ReadTwice() && a.readsForConfidence() {
		return // the reader says it, of the passage that is first then
	}
	if !a.Plan.Methods[0].WeighsByQuestion() {
		if extract.FirstByBoth(scores, rerankScores, weight) != 0 {
			r.Confidence, r.Any = nil, nil
		}
		return
	}
	var sure float64
	if _, signals := extract.RerankedSignals(scores, rerankScores, weight, *r.Confidence); x.Confidence != nil &&
		a.Plan.Weighs(x) {
		chance, err := x.Confidence.Of(signals)
		if err != nil {
			return // it was calibrated otherwise
		}
		sure = chance
	} else {
		any := *r.Confidence
		if r.Any != nil {
			any = *r.Any
		}
		sure = RerankChance(scores, rerankScores, weight, *r.Confidence, any)
	}
	r.Confidence = &sure
	if r.Any != nil {
		r.Any = run.Ptr(max(*r.Any, sure))
	}
}

// setRerankedVerdict replaces the first ranking's chance that the collection answers by the one with the reranker,
// caps the confidence by it (CapByVerdict), and sets a.judgedBy. It changes nothing if the ranking has no such
// chance, the reranker's calibration has none or one of other signals, its weight does not apply (Plan.Weighs), or
// a reader calibrated for this will do so afterwards.
func (a *Answer) setRerankedVerdict(x *learned.LoadedReranker, scores, rerankScores []float64, weight float64) {
	r := &a.Rankings[0]
	by := x.Answerability
	if by == nil || r.Answerable == nil || !a.Plan.Weighs(x) ||
		a.Plan.Reader != nil && a.Plan.Reader.Answerability != nil {
		return
	}
	_, signals := extract.RerankedSignals(scores, rerankScores, weight, *r.Answerable)
	if chance, err := by.Chance.Of(signals); err == nil { // else it was calibrated otherwise
		r.Answerable = &chance
		a.judgedBy = by
		CapByVerdict(r, by)
	}
}

// reranksForConfidence reports whether the confidence of the first ranking will be replaced by one from the reranker's
// scores: the ranking has a confidence, its method weighs sources by question, and some of its passages are to be
// reranked.
func (a *Answer) reranksForConfidence() bool {
	first := &a.Rankings[0]
	return first.Confidence != nil && a.Plan.Methods[0].WeighsByQuestion() && a.Plan.Window(len(first.Items)) > 0
}
