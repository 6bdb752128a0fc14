package calibration

import (
	"fmt"
	"slices"

	"example.org/conclave/fusion"
)

// SourceRecord is the fitted chance that a source's own first hit answers, with its figures
// on held-out questions.
type SourceRecord struct {
	Name        string            `yaml:"name"`
	Fingerprint string            `yaml:"fingerprint,omitempty"` // of the question encoder; none for words
	Kind        fusion.SourceKind `yaml:"kind"`
	Chance      Confidence        `yaml:"chance"`
	ECE         float64           `yaml:"ece"`                   // held out
	Reliability []Bin             `yaml:"reliability,omitempty"` // held out
}

// Check returns an error for a record that cannot be served.
func (s *SourceRecord) Check() error {
	if err := s.Chance.Validate(); err != nil {
		return err
	}
	var names []string
	for _, t := range s.Chance.Logistic.Signals {
		names = append(names, t.Name)
	}
	if want := fusion.SourceSignalNames(s.Kind); !slices.Equal(names, want) {
		return fmt.Errorf(
			"the signals %v; this version of conclave reads %v of a source of kind %q: calibrate again",
			names,
			want,
			s.Kind,
		)
	}
	return nil
}

// SourceChanceFit is the fitted chance of a source, on the questions for which it found
// something.
type SourceChanceFit struct {
	Kind fusion.SourceKind
	ConfidenceFit
}

// fitSourceChance fits the chance that the first hit of one source, by its
// column, answers. Rival of the sources has to be known.
func fitSourceChance(questions []Question, column int) (SourceChanceFit, error) {
	var fit SourceChanceFit
	var ranked []RankedQuestion
	for i := range questions {
		q := &questions[i]
		for at, s := range q.Sources {
			if s.Column != column {
				continue
			}
			signals := fusion.SourceSignals(q.Table, q.Sources, fusion.FeaturesOf(q.Table, q.Sources), at)
			if signals == nil {
				continue
			}
			fit.Kind = s.Kind
			r := RankedQuestion{ID: q.ID, Signals: signals}
			if q.answeredBy(column) {
				r.First = 1
			}
			ranked = append(ranked, r)
		}
	}
	if len(ranked) < 2*Folds { // too few to say anything on other folds
		return SourceChanceFit{}, nil
	}
	var err error
	fit.ConfidenceFit, err = FitConfidence(fusion.SourceSignalNames(fit.Kind), ranked, 1, nil)
	return fit, err
}
