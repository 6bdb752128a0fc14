package calibration

import (
	"example.org/conclave/fusion"
	"example.org/conclave/internal/languages"
)

// ForeignPriors are the shipped fits of collections whose only dense source is an encoder of its own
// (fusion.ForeignCloseness).
type ForeignPriors struct {
	Late    bool        // they were fitted with late interaction by its states
	Prior   *Prior      // the confidence
	Verdict *VerdictFit // of languages that are written with spaces between words
	// Unspaced are the verdicts of other languages, by code; one that is not there has none.
	Unspaced map[string]*VerdictFit
}

// verdictFor returns the verdict of questions in the language with this code; nil for "" and a language without one.
func (p *ForeignPriors) verdictFor(code string) *VerdictFit {
	switch {
	case code == "":
		return nil
	case languages.FunctionWordsOf(code) == nil:
		return p.Unspaced[code]
	}
	return p.Verdict
}

// shippedFits are the shipped fits that hold for the sources of a collection; the zero value: none do.
type shippedFits struct {
	prior   *Prior
	verdict *VerdictFit    // for all questions, without foreign
	foreign *ForeignPriors // the verdicts by language; nil: the fits are of the base's sources
}

// fitsFor returns those of the options' shipped fits that hold for these sources.
func (o *FitOptions) fitsFor(sources []fusion.ObservedSource) shippedFits {
	foreign, late := fusion.ForeignCloseness(sources)
	switch {
	case fusion.Closeness(sources):
		return shippedFits{prior: o.Prior, verdict: o.Verdict}
	case foreign && o.Foreign != nil && o.Foreign.Late == late:
		return shippedFits{prior: o.Foreign.Prior, foreign: o.Foreign}
	}
	return shippedFits{}
}

// verdictFor returns the verdict that holds for a question; nil if none does.
func (s *shippedFits) verdictFor(q *Question) *VerdictFit {
	if s.foreign != nil {
		return s.foreign.verdictFor(q.Language)
	}
	return s.verdict
}

// commonVerdict returns the verdict that holds for most of the answerable questions, the first of equally frequent
// ones; nil if none holds for any. A collection has thresholds for one verdict, and its passages hardly are in both
// kinds of languages.
func (s *shippedFits) commonVerdict(asked []Question) (common *VerdictFit) {
	n := map[*VerdictFit]int{}
	for i := range asked {
		if v := s.verdictFor(&asked[i]); v != nil {
			n[v]++
		}
	}
	for i := range asked {
		if v := s.verdictFor(&asked[i]); n[v] > n[common] {
			common = v
		}
	}
	return common
}

// withoutUnjudged returns answers without those to Judged questions that the prior does not hold for, as they are in
// another language than the collection.
func (s *shippedFits) withoutUnjudged(answers []RankedQuestion) (out []RankedQuestion) {
	for _, a := range answers {
		if s.foreign == nil || a.Without != Judged || a.Asked.Language != "" {
			out = append(out, a)
		}
	}
	return out
}
