package main

import (
	"fmt"
	"slices"
	"strings"

	"conclave/calibration"
	"conclave/questions"
)

// fittedOn is a note that names the sets of questions which the collection was
// calibrated on: nobody should take what is measured on them for what new
// questions get. None where there is no such set; a set that was changed since
// is another one.
func fittedOn(collection string, domains []questions.Domain) ([]string, error) {
	record, err := calibration.ReadRecord(collection)
	if err != nil || record == nil {
		return nil, err
	}
	var names []string
	for _, d := range domains {
		known := slices.ContainsFunc(record.Questions, func(s calibration.QuestionSet) bool { return s.SHA256 == d.SHA256 || s.SHA256 == d.Whole })
		if known && !slices.Contains(names, d.Name) {
			names = append(names, d.Name)
		}
	}
	if names == nil {
		return nil, nil
	}
	return []string{fmt.Sprintf("auto, gate, hybrid and the confidences were fitted on these very questions (%s): expect less on others. `conclave calibrate` and `conclave ablate` measure on questions left out of the fit",
		strings.Join(names, ", "))}, nil
}
