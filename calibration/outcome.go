package calibration

import (
	"fmt"
	"math"
)

// Outcome is a confidence, 0 to 1, and whether what it was about came true:
// that the first passage answers, or any of the first k.
type Outcome struct {
	Confidence float64
	Correct    bool
}

// correct is 1 or 0.
func (o Outcome) correct() float64 {
	if o.Correct {
		return 1
	}
	return 0
}

// Summary says how good confidences are. The values are 0 to 1.
type Summary struct {
	Questions  int     `json:"questions" yaml:"questions"`
	Accuracy   float64 `json:"accuracy" yaml:"accuracy"`
	Confidence float64 `json:"confidence" yaml:"confidence"` // its mean
	// ECE is the expected calibration error, with absolute gaps; SquaredECE has
	// squared ones. A constant equal to the accuracy has an ECE of 0, so AUROC
	// stands beside it.
	ECE        float64 `json:"ece" yaml:"ece"`
	SquaredECE float64 `json:"squared_ece" yaml:"squared_ece"`
	// Brier is the mean squared difference between confidence and outcome. It
	// is a proper score: only the true chances minimise it.
	Brier float64 `json:"brier" yaml:"brier"`
	// AUROC is nil when all outcomes are the same.
	AUROC *float64 `json:"auroc" yaml:"auroc"`
}

// Summarise measures confidences against what came true.
func Summarise(outcomes []Outcome) (Summary, error) {
	r, err := NewReliability(outcomes)
	if err != nil {
		return Summary{}, err
	}
	s := Summary{Questions: r.Questions, Accuracy: r.Accuracy, Confidence: r.Confidence, ECE: r.ECE(), SquaredECE: r.SquaredECE()}
	for _, o := range outcomes {
		s.Brier += brier(o) / float64(len(outcomes))
	}
	if area, ok := AUROC(outcomes); ok {
		s.AUROC = &area
	}
	return s, nil
}

func brier(o Outcome) float64 {
	gap := o.Confidence - o.correct()
	return gap * gap
}

// checkOutcomes refuses no outcomes, and a confidence that is not a number.
func checkOutcomes(outcomes []Outcome) error {
	if len(outcomes) == 0 {
		return fmt.Errorf("there are no questions to measure confidences on")
	}
	for i, o := range outcomes {
		if math.IsNaN(o.Confidence) || math.IsInf(o.Confidence, 0) {
			return fmt.Errorf("the confidence of question %d of %d is %v", i+1, len(outcomes), o.Confidence)
		}
	}
	return nil
}
