// Package run runs the steps of a search: in turns, under a reporter, and guarded against panics and faults of mapped
// files.
package run

import (
	"context"
	"time"

	"example.org/conclave/search/turn"
)

// Reporter is told how a search goes, stage by stage and source by source. Its methods are called by several
// goroutines at once, also after the answer was given, and have to be quick.
type Reporter interface {
	// Stage reports how long a stage of a source took; source "" is a stage of the whole request.
	Stage(ctx context.Context, source, stage string, took time.Duration)
	// Source reports the status of a source, and the error if it is not StatusOK.
	Source(ctx context.Context, source, status string, cause error)
}

// Runner runs the steps of a search: it waits for turns to compute, and reports stages.
type Runner struct {
	Report Reporter
	Turns  turn.Turns
}

// Compute waits for a turn to compute, runs step and returns its error; if ctx ends before there is a turn, it returns
// an error and does not run step (turn.Do).
func (r Runner) Compute(ctx context.Context, step func(context.Context) error) error {
	return turn.Do(ctx, r.Turns, step)
}

// Stage runs a step of a source, stores its duration in took, in milliseconds, and reports it. If ctx has ended, it
// returns ctx's error and does not run the step.
func (r Runner) Stage(ctx context.Context, source, stage string, took *float64, step func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	started := time.Now()
	defer func() {
		d := time.Since(started)
		*took = Milliseconds(d)
		r.Report.Stage(ctx, source, stage, d)
	}()
	return step()
}
