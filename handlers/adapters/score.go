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

// scores returns numbers from 0 to 1, for interfaces that want such: the probability that
// a result is the one that answers. The first has the confidence of the answer. The
// others share the difference between confidence_any and it in proportion to exp(10 ·
// score), and none gets more than the one before it. Together they are at most
// confidence_any.
//
// Where the confidence is not known, a score is the fused one as a share of the first's.
func scores(r reply.Response) []float64 {
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

// atLeast returns how many results a search is asked for, so that the chance of any is known
// and the second has one too: it is calibrated for five, ten and twenty.
func atLeast(results int) int { return max(results, 5) }

// checkThreshold refuses what no score can be.
func checkThreshold(pointer string, threshold float64) error {
	if threshold < 0 || threshold > 1 {
		return invalid(
			"out_of_range",
			pointer,
			"%s is %v: scores are from 0 to 1",
			strings.TrimPrefix(pointer, "/"),
			threshold,
		)
	}
	return nil
}

// chosen returns the first results that have at least a score, and their scores. The
// threshold has been the request's min_confidence too, so that an answer below it has
// none.
func chosen(r reply.Response, most int, threshold float64) ([]reply.Result, []float64) {
	all := scores(r)
	for i, score := range all {
		if i == most || score < threshold {
			return r.Results[:i], all[:i]
		}
	}
	return r.Results, all
}
