package evaluation

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"example.org/conclave/calibration"
	"example.org/conclave/internal/questions"
)

// NoteCalibration sets o.About.Calibration to the digest of a calibration's text, and adds a note to o.Notes if it was
// fitted on questions of these domains: figures measured on them do not hold for new questions. An empty record changes
// nothing. Questions that were changed since the calibration count as others. It fails if the record is invalid.
func (o *MeasureOptions) NoteCalibration(record []byte, domains []questions.Domain) error {
	if len(record) == 0 {
		return nil
	}
	sum := sha256.Sum256(record)
	o.About.Calibration = hex.EncodeToString(sum[:])
	by, err := calibration.ParseRecord(record)
	if err != nil {
		return err
	}
	var names []string
	fitted := false
	for _, d := range domains {
		if slices.ContainsFunc(
			by.Questions, func(s calibration.QuestionSet) bool { return s.SHA256 == d.SHA256 || s.SHA256 == d.Whole },
		) {
			fitted = true
			if d.Name != "" {
				names = append(names, d.Name)
			}
		}
	}
	if !fitted {
		return nil
	}
	which := ""
	if len(names) > 0 {
		which = " (" + strings.Join(names, ", ") + ")"
	}
	o.Notes = append(
		o.Notes,
		"auto, gate, hybrid and the confidences were fitted on these very questions"+which+
			": expect less on others. Calibration and ablation measure on questions left out of the fit",
	)
	return nil
}
