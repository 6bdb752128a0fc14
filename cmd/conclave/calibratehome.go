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
	// chance is the same from more than the ensemble says: the first hit's score,
	// how far it is ahead, and how familiar the question is.
	chance calibration.ConfidenceFit
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
		chance, err := chanceAtHome(own, n, t)
		if err != nil {
			return fmt.Errorf("the chances of %s at home: %w", s.Name, err)
		}
		f.home = append(f.home, atHome{s.Name, t, perfect, chance})
	}
	return nil
}

// chanceAtHome fits the chance that an expert's first hit answers.
func chanceAtHome(own []asked, source int, t calibration.TemperatureFit) (calibration.ConfidenceFit, error) {
	names := []string{"first_score", "gap_second", "gap_tenth", "familiarity", "confidence"}
	var ranked []calibration.RankedQuestion
	next := 0
	for _, q := range own {
		s := q.evidence.Sources[source]
		if len(s.MemberScores) == 0 {
			continue // skipped by the temperature's fit too
		}
		at := func(n int) float64 { return float64(s.Hits[min(n, len(s.Hits)-1)].Score) }
		r := calibration.RankedQuestion{ID: q.id, Signals: []float64{at(0), at(0) - at(1), at(0) - at(9), s.Familiarity, t.HeldOutOutcomes[next].Confidence}}
		if t.HeldOutOutcomes[next].Correct {
			r.First = 1
		}
		ranked = append(ranked, r)
		next++
	}
	return calibration.FitConfidence(names, ranked, 1)
}
