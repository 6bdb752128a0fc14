package assembly

import (
	"slices"

	"example.org/conclave/calibration"
	"example.org/conclave/internal/experts"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"example.org/conclave/shipped"
)

// hasBaseLate reports whether there is late interaction that has the shipped confidence and verdict, which were fitted
// with that of the base encoder: any has but that of the expert for many languages.
func hasBaseLate(made *search.LineUp) bool {
	return slices.ContainsFunc(made.Late, func(x learned.Expert) bool { return !x.Foreign })
}

// isMultilingual reports whether an expert is the one for many languages that setup fetches.
func isMultilingual(e *experts.Expert) bool { return shipped.IsMultilingual(&e.Bundle.Manifest) }

// foreignFits returns the confidences and verdicts for answers by the expert for many languages as the only dense
// source, in a collection with this record, which may be nil: the shipped ones, with the record's thresholds if these
// are of the same fit, and with its confidences if no other dense source answered when these were fitted. It returns
// nil if that expert is not open, or the program has no such fits. It fails if a shipped fit cannot be parsed.
func (a *Assembly) foreignFits(made *search.LineUp, record *calibration.Record) (*learned.ForeignFits, error) {
	priors, err := a.foreignPriors(made)
	if priors == nil || err != nil {
		return nil, err
	}
	fits := &learned.ForeignFits{
		Late: priors.Late, Chances: priors.Prior.Chances, ChancesBasis: reply.BasisShipped,
		Answerability: *answerabilityBy(priors.Verdict, record), Unspaced: map[string]*learned.Answerability{},
	}
	for code, verdict := range priors.Unspaced {
		fits.Unspaced[code] = answerabilityBy(verdict, record)
	}
	others := slices.ContainsFunc(made.Experts, func(x learned.Expert) bool {
		return !x.Foreign && len(x.Representatives) == 0
	})
	if record != nil && len(record.Chances) > 0 && !others {
		fits.Chances, fits.ChancesBasis = record.Chances, reply.BasisCalibrated
	}
	return fits, nil
}

// foreignPriors returns the shipped fits of the expert for many languages, where it is the only dense source, with late
// interaction by its states if made has that, or without; nil if that expert is not open or the program has none. It
// fails if a shipped fit cannot be parsed.
func (a *Assembly) foreignPriors(made *search.LineUp) (*calibration.ForeignPriors, error) {
	if !slices.ContainsFunc(a.Experts.Dense(), isMultilingual) {
		return nil, nil
	}
	byStates := slices.ContainsFunc(made.Late, func(x learned.Expert) bool { return x.Foreign })
	files := shipped.FilesOf(byStates)
	prior, err := parseShipped(files.Confidence, calibration.ParsePrior)
	if prior == nil || err != nil {
		return nil, err
	}
	verdict, err := parseShipped(files.Verdict, calibration.ParseVerdict)
	if verdict == nil || err != nil {
		return nil, err
	}
	out := &calibration.ForeignPriors{Late: byStates, Prior: prior, Verdict: verdict}
	if !a.analysis.HasGrams() {
		return out, nil
	}
	unspaced, err := parseShipped(files.Unspaced, calibration.ParseVerdict)
	if unspaced == nil || err != nil {
		return nil, err
	}
	out.Unspaced = map[string]*calibration.VerdictFit{"zh": unspaced, "ja": unspaced} // to which it was fitted
	return out, nil
}
