package main

import (
	"context"
	"fmt"

	"conclave/calibration"
)

// atHome is how well an expert's confidence can be calibrated on the questions
// of its own domain alone, as MUF's authors do it.
type atHome struct {
	expert string
	fit    calibration.TemperatureFit
	// perfect is the ECE that a perfectly calibrated predictor stays below in 95
	// of 100 samples of this size.
	perfect float64
}

// Rounds of the bootstrap, and its seed.
const (
	perfectRounds = 1000
	perfectSeed   = 13
)

// fitAtHome fits temperatures to the questions of domains that have the name
// of an expert.
func (f *fit) fitAtHome(ctx context.Context, questions []asked) error {
	for n, s := range questions[0].evidence.Sources {
		var own []asked
		for _, q := range questions {
			if q.domain == s.Name {
				own = append(own, q)
			}
		}
		if s.Members < 2 || len(own) < 2*calibration.Folds || len(own) == len(questions) {
			continue
		}
		t, err := fitTemperature(ctx, own, n)
		if err != nil {
			return fmt.Errorf("the temperature of %s at home: %w", s.Name, err)
		}
		var confidences []float64
		for _, o := range t.HeldOutOutcomes {
			confidences = append(confidences, o.Confidence)
		}
		perfect, err := calibration.PerfectECE(confidences, len(confidences), .95, perfectRounds, perfectSeed)
		if err != nil {
			return err
		}
		f.home = append(f.home, atHome{s.Name, t, perfect})
	}
	return nil
}
