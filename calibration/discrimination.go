package calibration

import (
	"cmp"
	"math"
	"slices"
)

// AUROC is the chance that a question that came true has the higher confidence
// of two, one of each kind, equal ones counting half: 0.5 for a constant, 1
// when the confidences separate them. ok is false when all outcomes are the
// same. (The Mann-Whitney statistic.)
func AUROC(outcomes []Outcome) (area float64, ok bool) {
	right, wrong := 0.0, 0.0
	above, pairs := 0.0, 0.0 // right ones so far
	for _, g := range byConfidence(outcomes) {
		lost := g.size - g.correct
		pairs += lost * (above + g.correct/2)
		above += g.correct
		right += g.correct
		wrong += lost
	}
	if right == 0 || wrong == 0 {
		return 0, false
	}
	return pairs / (right * wrong), true
}

// CoveragePoint is what comes of answering only when sure.
type CoveragePoint struct {
	Threshold float64 `json:"threshold"` // answered where the confidence is at least this
	Coverage  float64 `json:"coverage"`  // share of the questions that are answered
	Accuracy  float64 `json:"accuracy"`  // among those answered
}

// Coverage is accuracy against coverage: one point for each confidence that
// occurs, the highest first. The last point answers everything.
func Coverage(outcomes []Outcome) []CoveragePoint {
	var points []CoveragePoint
	answered, correct := 0.0, 0.0
	for _, g := range byConfidence(outcomes) {
		answered += g.size
		correct += g.correct
		points = append(points, CoveragePoint{Threshold: g.confidence, Coverage: answered / float64(len(outcomes)), Accuracy: correct / answered})
	}
	return points
}

// AccuracyAt is the accuracy on the surest share of the questions, rounded up
// to whole questions and at least one. Where only some of several equally
// confident questions fit, it is what a random choice among them gives on
// average, so that the order of the outcomes does not matter. Without outcomes
// it is 0.
func AccuracyAt(outcomes []Outcome, share float64) float64 {
	wanted := math.Ceil(min(max(share, 0), 1)*float64(len(outcomes)) - 1e-9)
	wanted = max(wanted, 1)
	answered, correct := 0.0, 0.0
	for _, g := range byConfidence(outcomes) {
		taken := min(g.size, wanted-answered)
		answered += taken
		correct += g.correct * taken / g.size
		if answered == wanted {
			break
		}
	}
	return correct / max(answered, 1)
}

// tied are the outcomes of one confidence.
type tied struct{ confidence, size, correct float64 }

// byConfidence groups outcomes by confidence, the highest first.
func byConfidence(outcomes []Outcome) []tied {
	sorted := slices.Clone(outcomes)
	slices.SortFunc(sorted, func(a, b Outcome) int { return cmp.Compare(b.Confidence, a.Confidence) })
	var groups []tied
	for _, o := range sorted {
		if n := len(groups); n == 0 || groups[n-1].confidence != o.Confidence {
			groups = append(groups, tied{confidence: o.Confidence})
		}
		g := &groups[len(groups)-1]
		g.size++
		g.correct += o.correct()
	}
	return groups
}
