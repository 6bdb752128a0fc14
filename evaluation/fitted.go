package evaluation

import (
	"fmt"
	"slices"
	"strings"

	"conclave/calibration"
	"conclave/questions"
)

// FittedOn returns notes that name the domains that a collection was calibrated on:
// figures that are measured on them do not hold for new questions. It returns none where
// there is no such domain. A set of questions that was changed since the calibration
// counts as another one.
func FittedOn(record *calibration.Record, domains []questions.Domain) []string {
	var names []string
	for _, d := range domains {
		if record != nil && slices.ContainsFunc(record.Questions, func(s calibration.QuestionSet) bool { return s.SHA256 == d.SHA256 || s.SHA256 == d.Whole }) {
			names = append(names, d.Name)
		}
	}
	if names == nil {
		return nil
	}
	return []string{fmt.Sprintf("auto, gate, hybrid and the confidences were fitted on these very questions (%s): expect less on others. Calibration and ablation measure on questions left out of the fit",
		strings.Join(names, ", "))}
}
