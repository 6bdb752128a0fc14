package calibration

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/optimize"
)

// Coarse to fine: a fit on a part of the questions comes near the minimum and
// shows how the loss curves there, for an eighth of the work a step; with that,
// all the questions need few steps more. The minimum is that of all of them.
const (
	// coarser is how many questions one stands for.
	coarser = 8
	// fewest is how many forms of questions a part has at least: with fewer, some
	// two dozen parameters fit the part and not the rest.
	fewest = 400
)

// minimise finds the parameters with the least loss.
func (p *gateProblem) minimise(
	ctx context.Context,
	start []float64,
	rounds int,
) (x []float64, loss float64, err error) {
	part := p.subsample(min(coarser, len(p.questions)/fewest))
	if part == nil {
		return descend(ctx, p.plain(start), rounds, exactly)
	}
	// The part's minimum differs by some hundredths from the minimum over all
	// questions, so it need not be exact.
	near, _, err := descend(ctx, part.plain(start), rounds, nearly)
	if err != nil {
		return nil, 0, err
	}
	if p.loss(near, nil) > p.loss(start, nil) { // the part does not represent the rest
		return descend(ctx, p.plain(start), rounds, exactly)
	}
	return descend(ctx, p.coordinates(near, part.curvature(near)), rounds, exactly)
}

// subsample returns the problem of every so many-th question, as it is asked with and
// without the most familiar expert. Nil for every one.
func (p *gateProblem) subsample(every int) *gateProblem {
	if every < 2 {
		return nil
	}
	out := *p
	out.questions = nil
	for at, number := 0, -1; at < len(p.questions); at++ {
		if at == 0 || p.questions[at].of != p.questions[at-1].of {
			number++
		}
		if number%every == 0 {
			out.questions = append(out.questions, p.questions[at])
		}
	}
	return &out
}

// precision is when a descent ends: when the loss has changed by less for some
// steps, or its slope is less. In coordinates where it curves by 1, it is by half
// the squared slope above the minimum.
type precision struct{ loss, slope, roundSlope float64 }

var (
	exactly = precision{loss: 1e-6, slope: 1e-6, roundSlope: 1e-4}
	nearly  = precision{loss: 3e-4, slope: 1e-3}
)

// descend minimises by BFGS.
func descend(ctx context.Context, c *coordinates, rounds int, until precision) (x []float64, loss float64, err error) {
	settings := optimize.Settings{MajorIterations: rounds, GradientThreshold: until.slope,
		Converger: &optimize.FunctionConverge{Absolute: until.loss, Iterations: 5}}
	if c.unit > 0 {
		settings.GradientThreshold = until.roundSlope * c.unit
	}
	result, err := optimize.Minimize(optimize.Problem{
		Func:   func(u []float64) float64 { c.at(u); return c.value },
		Grad:   func(slope, u []float64) { c.at(u); copy(slope, c.slope) },
		Status: func() (optimize.Status, error) { return optimize.NotTerminated, ctx.Err() },
	}, make([]float64, len(c.origin)), &settings, &optimize.BFGS{})
	if ctx.Err() != nil {
		return nil, 0, ctx.Err()
	}
	if result == nil ||
		err != nil && !errors.Is(err, optimize.ErrLinesearcherFailure) && !errors.Is(err, optimize.ErrNoProgress) {
		return nil, 0, fmt.Errorf("fitting the gate: %w", err)
	}
	return c.parameters(result.X), result.F, nil
}
