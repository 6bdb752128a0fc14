package calibration

import (
	"context"
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

// Check returns an error if the chance is invalid, or has other signals than this version of conclave computes for this
// kind of source.
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
			"the signals %v; this version of conclave reads %v of a source of kind %q: calibrate again", names, want,
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

// fitSourceChance fits the chance that the first hit of the source at a column answers. It uses the questions for which
// that source has signals (fusion.SourceSignals); their sources must have Rival set (fusion.Rivals). With fewer than
// 2·Folds such questions, it returns a zero fit and no error. It fails if a signal is not a number.
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
			if q.AnsweredBy(column) {
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

// ensembleAnswer is the output of one expert's ensemble for one question.
type ensembleAnswer struct {
	id string
	// scores are the members' inner products with the expert's first hits, at
	// the depth that will be served: member by member, members × hits.
	scores  []float32
	members int
	correct bool // the expert's first hit answers
}

// confidenceAt returns the ensemble's confidence in its answer at a temperature, 0 to 1. It fails for scores or a
// temperature that fusion.MutualInformation refuses.
func (e *ensembleAnswer) confidenceAt(temperature float64) (confidence float64, err error) {
	information, err := fusion.MutualInformation(e.scores, e.members, temperature)
	return fusion.Confidence(information, e.members), err
}

// hasConfidence reports whether the ensemble has at least two members and its expert at least two hits. Otherwise the
// expert has no confidence in this answer at any temperature.
func (e *ensembleAnswer) hasConfidence() bool { return e.members >= 2 && len(e.scores) >= 2*e.members }

// temperatureFit is the temperature of one expert.
type temperatureFit struct {
	temperature   float64
	edge          bool      // it is the first or last of the grid: a better one may lie beyond
	before, after float64   // ECE at temperature 1 and at temperature, on the questions that it was fitted on
	heldOut       []Outcome // with temperatures fitted on other questions, of those that the ensemble answered
	confidences   []float64 // the same by question; -1 for those that it did not
}

// fitTemperature returns the temperature of the grid, refined by golden section, at which an expert's confidence has
// the lowest ECE (Li et al., 2021, section 4.3: ten bins, first hit, development questions). The scale of the members'
// scores is the expert's own (1e-3 is the paper's, for inner products near 80). It fails if no answer has a confidence,
// or ctx ends.
func fitTemperature(ctx context.Context, answers []ensembleAnswer, grid []float64) (temperatureFit, error) {
	var fit temperatureFit
	known := slices.DeleteFunc(slices.Clone(answers), func(e ensembleAnswer) bool { return !e.hasConfidence() })
	if len(known) == 0 {
		return fit, fmt.Errorf(
			"none of %d questions has two hits and an ensemble of two: there is nothing to fit a temperature on",
			len(answers),
		)
	}
	outcomes := func(places []int, confidences []float64) []Outcome {
		out := make([]Outcome, len(places))
		for n, i := range places {
			out[n] = Outcome{Confidence: confidences[n], Correct: known[i].correct}
		}
		return out
	}
	t := numberFit{grid: grid, value: func(i int, x float64) (float64, error) { return known[i].confidenceAt(x) },
		loss: func(places []int, confidences []float64) float64 { return ECE(outcomes(places, confidences)) }}
	var places []int
	for i, e := range known {
		t.ids, places = append(t.ids, e.id), append(places, i)
	}
	var computed []float64
	var err error
	fit.temperature, computed, err = t.fitNumber(ctx)
	if err != nil {
		return fit, err
	}
	fit.edge = fit.temperature == grid[0] || fit.temperature == grid[len(grid)-1]
	fit.before, err = t.lossAt(places, 1)
	if err != nil {
		return fit, err
	}
	fit.after, err = t.lossAt(places, fit.temperature)
	if err != nil {
		return fit, err
	}
	next := 0
	for _, e := range answers {
		if !e.hasConfidence() {
			fit.confidences = append(fit.confidences, -1)
			continue
		}
		confidence, err := e.confidenceAt(computed[next])
		if err != nil {
			return fit, err
		}
		fit.confidences = append(fit.confidences, confidence)
		fit.heldOut = append(fit.heldOut, Outcome{Confidence: confidence, Correct: e.correct})
		next++
	}
	return fit, nil
}

// temperatureGrid returns the temperatures that are tried.
func temperatureGrid() []float64 { return logarithmicGrid(-4, 3, 4) }
