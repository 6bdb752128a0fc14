package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// Turns shares the processors: a computation waits for its turn, first come first
// served, and gives it back soon. Encoders have queues of their own, so nobody waits
// for one with a turn in hand.
type Turns interface {
	Turn(ctx context.Context) (done func(), err error)
}

// freeTurns gives a turn at once.
type freeTurns struct{}

func (freeTurns) Turn(context.Context) (func(), error) { return func() {}, nil }

type arrivalKey struct{}

// Arrived tells Search when its request came in: its time runs from then. Without
// it, it runs from the call.
func Arrived(ctx context.Context, when time.Time) context.Context {
	return context.WithValue(ctx, arrivalKey{}, when)
}

// reserved is the share of a request's time that is left, when the last source has
// to be back, for making an answer of what the others found: a quarter, and never
// more than reservedMost.
const (
	reserved     = 4
	reservedMost = 100 * time.Millisecond
)

// readingMost is the most that a reader, and a reranker, has of a request's time, of which each
// gets a quarter: the sources have to be back so much earlier.
const readingMost = 500 * time.Millisecond

// shares returns how many models work on what the sources find: a reader, and a reranker.
func (q *inquiry) shares() (n int) {
	if q.reads {
		n++
	}
	if q.reranks {
		n++
	}
	return n
}

// divideTime limits a request, and in it the sources, to its time: timeout, or less where
// some of it has passed or the caller has less. Each of so many models has a share.
func divideTime(
	ctx context.Context,
	timeout time.Duration,
	began time.Time,
	models int,
	writes bool,
) (whole, sources context.Context, left time.Duration, cancel func()) {
	end := began.Add(timeout)
	if arrived, ok := ctx.Value(arrivalKey{}).(time.Time); ok {
		end = arrived.Add(timeout)
	}
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(end) {
		end = earlier
	}
	whole, cancelWhole := context.WithDeadline(ctx, end)
	left = max(end.Sub(began), 0)
	afterwards := min(left/reserved, reservedMost)
	if writes {
		afterwards = left / 2 // what takes long is writing
	} else {
		afterwards += time.Duration(models) * min(left/reserved, readingMost)
	}
	sources, cancelSources := context.WithDeadline(whole, end.Add(-afterwards))
	return whole, sources, left, func() { cancelSources(); cancelWhole() }
}

// checkCaller returns the error when the caller of a request does not wait any more.
func checkCaller(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("the caller has gone: %w", ctx.Err())
	}
	return nil
}

// compute does a step that needs a processor, when one is free. The step's context knows
// of its turn (Elsewhere).
func (e *Engine) compute(ctx context.Context, step func(context.Context) error) error {
	t := &turn{turns: e.turns}
	if err := t.take(ctx); err != nil {
		return err
	}
	defer t.giveBack()
	return step(context.WithValue(ctx, turnKey{}, t))
}

// turn is that of a step.
type turn struct {
	turns Turns
	done  func() // nil while the step has none
}

type turnKey struct{}

func (t *turn) take(ctx context.Context) (err error) {
	t.done, err = t.turns.Turn(ctx)
	return err
}

func (t *turn) giveBack() {
	if t.done != nil {
		t.done()
		t.done = nil
	}
}

// Elsewhere calls wait, which waits for another machine. A step that computes gives its turn back
// meanwhile. It is called by the goroutine of the step.
func Elsewhere(ctx context.Context, wait func() error) error {
	t, computes := ctx.Value(turnKey{}).(*turn)
	if !computes {
		return wait()
	}
	t.giveBack()
	return cmp.Or(wait(), t.take(ctx))
}

// Beside returns the context for what another goroutine waits for while a step goes on: the turn stays
// with the step, so nothing gives it back or takes it twice.
func Beside(ctx context.Context) context.Context { return context.WithValue(ctx, turnKey{}, nil) }
