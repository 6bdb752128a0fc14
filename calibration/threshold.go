package calibration

import (
	"cmp"
	"slices"
)

// Threshold measures a "min_confidence" on held-out questions. Shares are 0 to 1.
type Threshold struct {
	MinConfidence float64 `json:"min_confidence" yaml:"min_confidence"`
	// Lost is the share of the right first passages that are not given.
	Lost float64 `json:"right_lost" yaml:"right_lost"`
	// TakenOut and Unanswerable are the shares of the questions without an answer that
	// get none: of those whose passages were taken out, and of the unanswerable ones
	// of the files (null where there are none).
	TakenOut     float64  `json:"taken_out_silent" yaml:"taken_out_silent"`
	Unanswerable *float64 `json:"unanswerable_silent" yaml:"unanswerable_silent,omitempty"`
}

// tolerable is the share of right first passages that may be lost for silence about what
// the collection does not have.
const tolerable = .1

// tolerated returns the shares of right first passages lost for which thresholds are printed.
func tolerated() []float64 { return []float64{.02, .05, tolerable, .2} }

// thresholds returns the highest of two decimals that lose at most the tolerated shares, and
// one half, ascending.
func thresholds(answerable, takenOut, unanswerable []Outcome) []Threshold {
	lost := func(at float64) float64 { return below(answerable, at, true) }
	levels := []float64{.5}
	for _, share := range tolerated() {
		hundredths := 99
		for hundredths > 0 && lost(float64(hundredths)/100) > share {
			hundredths--
		}
		levels = append(levels, float64(hundredths)/100)
	}
	slices.SortFunc(levels, cmp.Compare[float64])
	var all []Threshold
	for _, at := range slices.Compact(levels) {
		t := Threshold{MinConfidence: at, Lost: lost(at), TakenOut: below(takenOut, at, false)}
		if len(unanswerable) > 0 {
			silent := below(unanswerable, at, false)
			t.Unanswerable = &silent
		}
		all = append(all, t)
	}
	return all
}

// chosen returns the highest of some thresholds that loses no more than is tolerable.
func chosen(all []Threshold) Threshold {
	best := all[0]
	for _, x := range all {
		if x.Lost <= tolerable {
			best = x
		}
	}
	return best
}

// below returns the share of the outcomes that came true, or of those that did not, whose
// confidence is lower. Without any it is 0.
func below(outcomes []Outcome, confidence float64, correct bool) float64 {
	if !slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Correct == correct }) {
		return 0
	}
	return 1 - AtLeast(outcomes, confidence, correct)
}
