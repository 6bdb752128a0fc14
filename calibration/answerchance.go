package calibration

import (
	"fmt"
	"io"
	"slices"

	"conclave/search"
)

// AnswersFile is the name of the file with the chance that is shipped for answers.
const AnswersFile = "answers.yaml"

// AnswerChance is the fitted chance that the words which a reader marked are right, with its
// figures on held-out questions.
type AnswerChance struct {
	Reader    string     `yaml:"reader"` // the fingerprint of the reader it was fitted for
	Questions int        `yaml:"questions"`
	ECE       float64    `yaml:"ece"`   // held out
	AUROC     float64    `yaml:"auroc"` // held out
	Chance    Confidence `yaml:"chance"`
}

// FitAnswers fits the chance to questions, whose First is 1 where the first answer is
// right, and to the same questions without the passages that answer. Each of the latter
// counts with weight 2/3 (takenOutWeight).
func FitAnswers(asked, takenOut []RankedQuestion, reader string) (*AnswerChance, error) {
	all := slices.Clone(asked)
	for _, q := range takenOut {
		q.Weight = takenOutWeight
		all = append(all, q)
	}
	fit, err := FitConfidence(search.AnswerSignals(), all, 1, nil)
	if err != nil {
		return nil, err
	}
	out := &AnswerChance{Reader: reader, Questions: len(asked), ECE: fit.HeldOut.ECE, Chance: fit.Confidence}
	if a := fit.HeldOut.AUROC; a != nil {
		out.AUROC = *a
	}
	return out, nil
}

// Check returns an error for a record that cannot be served.
func (a *AnswerChance) Check() error {
	var names []string
	for _, t := range a.Chance.Logistic.Signals {
		names = append(names, t.Name)
	}
	if want := search.AnswerSignals(); !slices.Equal(names, want) {
		return fmt.Errorf("signals: %v; this version of conclave computes %v: fit it again", names, want)
	}
	return a.Chance.Validate()
}

// ParseAnswerChance reads what Write writes, strictly.
func ParseAnswerChance(data []byte) (*AnswerChance, error) {
	return parsed[AnswerChance](data)
}

// Write writes the file that ParseAnswerChance reads.
func (a *AnswerChance) Write(w io.Writer) error {
	return writeYAML(w, "# The chance that the words which the shipped reader marks are right, made by `conclave\n# evaluate answers --chance` (docs/answers.md has the command).\n", a)
}
