package main

import (
	"context"
	"fmt"

	"conclave/calibration"
)

// sourceChance is how well it is known whether a source's own first hit
// answers, on questions that nothing was fitted on.
type sourceChance struct {
	name   string
	chance calibration.SourceChanceFit
	home   *atHome // nil where no domain has the expert's name
}

// atHome is the same on the questions of the expert's own domain.
type atHome struct {
	chance calibration.Summary
	// perfect is the ECE that a perfectly calibrated predictor stays below in 95
	// of 100 samples of this size.
	perfect float64
	// muf is the ensemble's confidence with a temperature for this domain alone,
	// as MUF's authors fit it; nil without an ensemble.
	muf *calibration.TemperatureFit
}

// Rounds of the bootstrap, and its seed.
const (
	perfectRounds = 1000
	perfectSeed   = 13
)

// fitSources fits every source's chance, to the questions of all domains.
func (f *fit) fitSources(ctx context.Context, questions []asked, gated []calibration.GateQuestion, fingerprints map[string]string) error {
	for column, s := range questions[0].evidence.Sources {
		chance, err := calibration.FitSourceChance(gated, column)
		if err != nil {
			return fmt.Errorf("the chances of %s: %w", s.Name, err)
		}
		if len(chance.Of) == 0 {
			continue // no words beside it
		}
		f.record.Sources = append(f.record.Sources, calibration.SourceRecord{Name: s.Name, Fingerprint: fingerprints[s.Name],
			Kind: chance.Kind, Chance: chance.Confidence, ECE: chance.HeldOut.ECE})
		home, err := homeOf(ctx, questions, column, chance)
		if err != nil {
			return fmt.Errorf("%s at home: %w", s.Name, err)
		}
		f.sources = append(f.sources, sourceChance{s.Name, chance, home})
	}
	return nil
}

// homeOf measures a source on the questions of the domain that has its name.
func homeOf(ctx context.Context, questions []asked, column int, chance calibration.SourceChanceFit) (*atHome, error) {
	s := questions[0].evidence.Sources[column]
	var own []asked
	for _, q := range questions {
		if q.domain == s.Name {
			own = append(own, q)
		}
	}
	if len(own) < 2*calibration.Folds || len(own) == len(questions) {
		return nil, nil
	}
	var outcomes []calibration.Outcome
	var confidences []float64
	for n, i := range chance.Of {
		if questions[i].domain == s.Name {
			outcomes = append(outcomes, chance.Outcomes[n])
			confidences = append(confidences, chance.Outcomes[n].Confidence)
		}
	}
	home := &atHome{}
	var err error
	if home.chance, err = calibration.Summarise(outcomes); err != nil {
		return nil, err
	}
	if home.perfect, err = calibration.PerfectECE(confidences, len(confidences), .95, perfectRounds, perfectSeed); err != nil {
		return nil, err
	}
	if s.Members >= 2 {
		t, err := fitTemperature(ctx, own, column)
		if err != nil {
			return nil, err
		}
		home.muf = &t
	}
	return home, nil
}
