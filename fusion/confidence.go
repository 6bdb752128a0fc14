package fusion

import (
	"fmt"
	"math"
	"slices"
)

// smoothing is what the authors of MUF add to a probability inside the logarithm
// (retrieve_rerank_dpr.py, get_confidence). It moves a confidence by about 1e-6, so
// closer agreement with their figures needs it.
const smoothing = 1e-6

// negligible bounds, below which a term is left out: exp(-40) is 4e-18, and
// P·|ln(P + 1e-6)| is below 1.4e-13 for a P below 1e-14. A thousand hits that
// are left out change the mutual information by less than 1.4e-10 nats.
const (
	negligibleExponent    = -40
	negligibleProbability = 1e-14
	likely                = 1e-3 // a thousand times the smoothing
)

// MutualInformation returns how much the members of an expert's ensemble disagree about a question, in nats, between 0
// (all agree) and ln(members): the mutual information between the passage that a member would choose and the member (Li
// et al., 2021, equation 4; Poole et al., 2019).
//
// scores holds, member by member, each member's inner products with the same hits: members × hits numbers. temperature
// divides them before the softmax over the hits. (The paper's text calls 1e-3 an inverse temperature; the authors' code
// divides by it, and only that gives the paper's figures.) It has to be fitted for each expert: 1e-3 suits DPR's inner
// products near 80, not those of unit vectors.
//
// The logarithm is of P + 1e-6, as in the authors' code, so the result may be a little outside its bounds; Confidence
// clamps.
//
// It fails if the scores are not a multiple of members, one is not finite, members is below 1, or the temperature is
// not a finite number above 0. It returns 0 without hits.
func MutualInformation(scores []float32, members int, temperature float64) (float64, error) {
	if members < 1 || len(scores)%members != 0 {
		return 0, fmt.Errorf("%d scores are not %d members times a number of hits", len(scores), members)
	}
	if !(temperature > 0) || math.IsInf(temperature, 0) {
		return 0, fmt.Errorf("the temperature is %v: it must be a finite number above 0", temperature)
	}
	hits := len(scores) / members
	if hits == 0 {
		return 0, nil
	}
	memory := make([]float64, 3*hits)
	marginal, logits, p := memory[:hits], memory[hits:2*hits], memory[2*hits:]
	entropies := 0.0
	for member := range members {
		row := scores[member*hits : (member+1)*hits]
		highest := slices.Max(row) // NaN when there is one
		if !isFinite(highest) || !isFinite(slices.Min(row)) {
			return 0, fmt.Errorf("member %d has a score that is not finite", member)
		}
		for i, s := range row {
			logits[i] = (float64(s) - float64(highest)) / temperature
		}
		entropies += softmax(logits, p, marginal)
	}
	for i := range marginal {
		marginal[i] /= float64(members)
	}
	return entropy(marginal) - entropies/float64(members), nil
}

// entropy returns -Σ P·ln(P + 1e-6), in nats. Terms of negligible probability are left out.
func entropy(p []float64) float64 {
	h := 0.0
	for _, x := range p {
		if x > negligibleProbability {
			h -= x * math.Log(x+smoothing)
		}
	}
	return h
}

// softmax sets p to the probabilities of logits, of which the highest is 0, adds them to marginal, and returns their
// entropy in nats.
func softmax(logits, p, marginal []float64) float64 {
	Exponentials(p, logits, 0)
	sum := 0.0
	for _, x := range p {
		sum += x
	}
	logSum := math.Log(sum)
	h := 0.0
	for i := range p {
		p[i] /= sum
		x := p[i]
		marginal[i] += x
		switch {
		case x > likely:
			// ln(P + 1e-6) by the series about ln P, which is known: its next term
			// is below 1e-12.
			share := smoothing / x
			h -= x * (logits[i] - logSum + share*(1-share*(1./2-share/3)))
		case x > negligibleProbability:
			h -= x * math.Log(x+smoothing)
		}
	}
	return h
}

// Confidence returns 1 - mutualInformation / ln(members), clamped to 0…1 (Li et al., 2021, equation 5). It returns 0
// for fewer than two members, since one cannot disagree with itself, and if mutualInformation is NaN.
func Confidence(mutualInformation float64, members int) float64 {
	if members < 2 || math.IsNaN(mutualInformation) {
		return 0
	}
	return min(max(1-mutualInformation/math.Log(float64(members)), 0), 1)
}

// weightsOf returns the confidences divided by their sum, so that they add up to 1; equal weights if all are 0. (The
// authors' code divides by zero there.) The argument is not changed.
func weightsOf(confidences []float64) []float64 {
	weights := slices.Clone(confidences)
	sum := sumAscending(weights) // sorts the copy
	copy(weights, confidences)
	for i := range weights {
		if sum > 0 {
			weights[i] /= sum
		} else {
			weights[i] = 1 / float64(len(weights))
		}
	}
	return weights
}
