package bm25

import (
	"fmt"
	"math"

	"example.org/conclave/bm25/forms"
)

// Params are the constants of the formula
//
//	score(q, d) = Σ_t count(t, q) · IDF(t) · tf / (tf + k1·(1 − b + b·length/average))
//	IDF(t)      = ln(1 + (N − df + 0.5) / (df + 0.5))
//
// which is Okapi BM25 (Robertson et al., TREC-3, 1994) as Lucene has it since
// version 8: without the factor k1 + 1, so that scores are lower than the
// paper's by that factor and the ranking is the same. N counts the passages
// that have a term at all. Lengths are rounded down to what fits in a byte (exact to
// 39 terms, then to four significant bits), as in Lucene, so that scores agree with
// it.
type Params struct {
	K1 float64 // how soon repetitions stop counting; 0 to 1,000,000
	B  float64 // how much length counts; 0 to 1

	// Phrases indexes pairs of adjacent terms too, for Searcher.Phrases. Words
	// score the same with and without.
	Phrases bool

	// Analysis is how texts become terms.
	Analysis forms.Analysis
}

// DefaultParams returns k1 0.9 and b 0.4, the values of the DPR-BM25 literature, without phrases and with the analysis
// Lucene.
func DefaultParams() Params { return Params{K1: 0.9, B: 0.4} }

// maxK1 keeps scores within what 32 bits can tell apart.
const maxK1 = 1e6

// Check returns an error if K1 or B is out of range or there is no such analysis.
func (p Params) Check() error {
	if !(p.K1 >= 0 && p.K1 <= maxK1) {
		return fmt.Errorf("k1 is %v: it must be between 0 and %v (0.9 is usual)", p.K1, maxK1)
	}
	if !(p.B >= 0 && p.B <= 1) {
		return fmt.Errorf("b is %v: it must be between 0 and 1 (0.4 is usual)", p.B)
	}
	if !p.Analysis.IsKnown() {
		return fmt.Errorf("there is no %v", p.Analysis)
	}
	return nil
}

// IDF returns the inverse document frequency of a term that df of docs passages have, rounded as Lucene does. A df
// above docs counts as docs.
func IDF(df, docs uint64) float32 {
	n, f := float64(docs), float64(min(df, docs))
	return float32(math.Log(1 + (n-f+0.5)/(f+0.5)))
}

// impact is what decides a posting's part of its term's weight: how often the
// term occurs and how long the passage is (as the index keeps lengths).
type impact struct{ tf, length uint32 }

// strength returns tf / (k1·(1 − b + b·length/average)), rounded to 32 bits where Lucene rounds; for the analysis
// Weighted it is tf. It is infinite for k1 0. It grows with what the posting adds to a score.
func (p Params) strength(i impact, average float32) float32 {
	if p.Analysis == forms.Weighted {
		return float32(i.tf)
	}
	k1, b := float32(p.K1), float32(p.B)
	inverse := 1 / (k1 * ((1 - b) + b*float32(i.length)/average))
	return float32(i.tf) * inverse // infinite for k1 = 0: any tf then counts the same
}

// termScore returns what a posting adds to a score: weight · tf / (tf + k1·(…)), in the form and with the roundings
// of Lucene. Callers add terms up in 64 bits. strength is that of the posting's impact (Params.strength).
func termScore(weight, strength float32) float64 {
	return float64(weight - weight/(1+strength))
}
