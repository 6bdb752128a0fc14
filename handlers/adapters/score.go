package adapters

import (
	"math"
	"strings"

	"example.org/conclave/search/reply"
)

// sharpness is by what fused scores are multiplied for the softmax of the passages after
// the first: with 10, it gives those that answer the highest likelihood, on the demo's
// questions whose first passage does not.
const sharpness = 10

// probabilities returns a number from 0 to 1 for each result, for interfaces that want such scores: the probability
// that it is the one that answers. The first is the response's confidence. The others share the difference to
// confidence_any in proportion to exp(10 · score), and none is higher than the one before it, so that all together are
// at most confidence_any.
//
// If the confidence is not known, each number is the result's fused score divided by the first one's.
func probabilities(r reply.Response) []float64 {
	out := make([]float64, len(r.Results))
	if len(out) == 0 {
		return out
	}
	first := r.Results[0].Score
	if r.Confidence == nil {
		for i, x := range r.Results {
			out[i] = 1
			if first > 0 {
				out[i] = min(max(x.Score/first, 0), 1)
			}
		}
		return out
	}
	out[0] = *r.Confidence
	rest := 0.0
	if r.Any != nil {
		rest = max(*r.Any-*r.Confidence, 0)
	}
	total := 0.0
	odds := func(x reply.Result) float64 { return math.Exp(sharpness * (x.Score - r.Results[1].Score)) }
	for _, x := range r.Results[1:] {
		total += odds(x)
	}
	for i, x := range r.Results[1:] {
		out[i+1] = min(rest*odds(x)/total, out[i])
	}
	return out
}

// searchDepth returns how many results a search has to ask for if the client wants so many: at least five, since
// confidence_any is not calibrated for fewer.
func searchDepth(results int) int { return max(results, 5) }

// checkThreshold returns a problem unless the threshold is from 0 to 1. pointer is the field's JSON pointer in the
// request.
func checkThreshold(pointer string, threshold float64) error {
	if threshold < 0 || threshold > 1 {
		return fieldError(
			"out_of_range", pointer, "%s is %v: scores are from 0 to 1", strings.TrimPrefix(pointer, "/"), threshold,
		)
	}
	return nil
}

// resultsAbove returns the first results, at most so many (most), up to the first whose score is below the threshold,
// and their scores (probabilities).
func resultsAbove(r reply.Response, most int, threshold float64) ([]reply.Result, []float64) {
	all := probabilities(r)
	for i, score := range all {
		if i == most || score < threshold {
			return r.Results[:i], all[:i]
		}
	}
	return r.Results, all
}
