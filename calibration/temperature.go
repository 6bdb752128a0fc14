package calibration

import (
	"context"
	"fmt"
	"math"
	"slices"

	"conclave/fusion"
)

// EnsembleQuestion is what one expert's ensemble said of one question.
type EnsembleQuestion struct {
	ID string
	// Scores are the members' inner products with the expert's first hits, at
	// the depth that will be served: member by member, Members × hits.
	Scores  []float32
	Members int
	// Correct says that the expert's first hit answers.
	Correct bool
}

// TemperatureOptions are what FitTemperature leaves open.
type TemperatureOptions struct {
	// Grid ascends. Nil: 29 values from 1e-4 to 1e3, since the scale of the
	// members' scores is the expert's own (1e-3 is the paper's, for inner
	// products near 80).
	Grid []float64
}

// TemperatureFit is the temperature of one expert.
type TemperatureFit struct {
	Temperature float64
	AtEdge      bool // at an end of the grid: the best one may lie beyond
	// Before is at temperature 1, After at Temperature, on the questions that
	// it was fitted on. HeldOut is with temperatures fitted on other questions.
	Before, After, HeldOut Summary
	Outcomes               []Outcome // of After, in the order of the questions that are not skipped
	HeldOutOutcomes        []Outcome // of HeldOut, likewise
	Curve                  []Point   // temperature and ECE, every one that was tried on all questions
	// Skipped are the ids of questions that have fewer than two hits or
	// members: the expert has no confidence in those, whatever the temperature.
	Skipped []string
}

// FitTemperature finds the temperature at which an expert's confidence has the
// lowest ECE (Li et al., 2021, section 3.3: ten bins, first hit, development
// questions).
func FitTemperature(ctx context.Context, questions []EnsembleQuestion, o TemperatureOptions) (TemperatureFit, error) {
	var fit TemperatureFit
	grid := o.Grid
	if grid == nil {
		grid = logarithmic(-4, 3, 4)
	}
	e := ensembleConfidences{known: map[float64][]float64{}}
	for _, q := range questions {
		if q.Members < 2 || len(q.Scores) < 2*q.Members {
			fit.Skipped = append(fit.Skipped, q.ID)
			continue
		}
		e.questions = append(e.questions, q)
	}
	if len(e.questions) == 0 {
		return fit, fmt.Errorf("none of %d questions has two hits and an ensemble of two: there is nothing to fit a temperature on", len(questions))
	}
	e.grid = grid

	all := make([]int, len(e.questions))
	for i := range all {
		all[i] = i
	}
	best, err := e.fit(ctx, all)
	if err != nil {
		return fit, err
	}
	fit.Temperature, fit.AtEdge, fit.Curve = best.X, best.AtEdge, best.Seen
	before, err := e.outcomes(all, 1)
	if err != nil {
		return fit, err
	}
	if fit.Outcomes, err = e.outcomes(all, fit.Temperature); err != nil {
		return fit, err
	}
	fit.HeldOutOutcomes, err = CrossFit(all, func(i *int) string { return e.questions[*i].ID },
		func(others []int) (Minimum, error) { return e.fit(ctx, others) },
		func(m Minimum, i *int) (Outcome, error) {
			one, err := e.outcomes([]int{*i}, m.X)
			if err != nil {
				return Outcome{}, err
			}
			return one[0], nil
		})
	if err != nil {
		return fit, err
	}
	for _, s := range []struct {
		of   []Outcome
		into *Summary
	}{{before, &fit.Before}, {fit.Outcomes, &fit.After}, {fit.HeldOutOutcomes, &fit.HeldOut}} {
		if *s.into, err = Summarise(s.of); err != nil {
			return fit, err
		}
	}
	return fit, nil
}

// ensembleConfidences works out confidences. Those that were worked out are
// kept, since all the folds ask for the grid's, and often for the same beyond.
type ensembleConfidences struct {
	questions []EnsembleQuestion
	grid      []float64
	known     map[float64][]float64 // by temperature and question; NaN: not yet
}

// fit finds the temperature for the questions at the given places.
func (e *ensembleConfidences) fit(ctx context.Context, places []int) (Minimum, error) {
	return Minimise(ctx, e.grid, func(temperature float64) (float64, error) {
		outcomes, err := e.outcomes(places, temperature)
		if err != nil {
			return 0, err
		}
		return ECE(outcomes)
	})
}

func (e *ensembleConfidences) outcomes(places []int, temperature float64) ([]Outcome, error) {
	known := e.known[temperature]
	if known == nil {
		known = slices.Repeat([]float64{math.NaN()}, len(e.questions))
		e.known[temperature] = known
	}
	outcomes := make([]Outcome, len(places))
	err := inParallel(len(places), func(n int) error {
		i := places[n]
		if math.IsNaN(known[i]) {
			var err error
			if known[i], err = e.confidence(i, temperature); err != nil {
				return err
			}
		}
		outcomes[n] = Outcome{Confidence: known[i], Correct: e.questions[i].Correct}
		return nil
	})
	return outcomes, err
}

func (e *ensembleConfidences) confidence(i int, temperature float64) (float64, error) {
	q := &e.questions[i]
	information, err := fusion.MutualInformation(q.Scores, q.Members, temperature)
	if err != nil {
		return 0, fmt.Errorf("question %s: %w", q.ID, err)
	}
	return fusion.Confidence(information, q.Members), nil
}
