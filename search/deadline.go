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

// divideTime limits a request, and in it the search and its sources, to its time: timeout, or less
// where some of it has passed or the caller has less. Each of the models that work on what is found
// has a share. A model behind an interface writes in time of its own, beside that.
func (q *inquiry) divideTime(
	ctx context.Context,
	began time.Time,
) (whole, sources context.Context, searched time.Time, cancel func()) {
	end := began.Add(q.timeout)
	if arrived, ok := ctx.Value(arrivalKey{}).(time.Time); ok {
		end = arrived.Add(q.timeout)
	}
	written := end.Add(q.writing)
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(written) {
		written = earlier
	}
	if written.Before(end) {
		end = written
	}
	whole, cancelWhole := context.WithDeadline(ctx, written)
	q.timeout = max(end.Sub(began), 0)
	afterwards := min(q.timeout/reserved, reservedMost)
	if q.writes {
		afterwards = q.timeout / 2 // what takes long is writing
	} else {
		afterwards += time.Duration(q.shares()) * min(q.timeout/reserved, readingMost)
	}
	sources, cancelSources := context.WithDeadline(whole, end.Add(-afterwards))
	return whole, sources, end, func() { cancelSources(); cancelWhole() }
}

// searching returns the context for everything but writing.
func (p *pass) searching(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.writing == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, p.searched)
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
	return InTurn(ctx, e.turns, step)
}

// InTurn does a step that needs a processor when one is free, and returns its error, or ctx's where that ends
// first. The step's context knows of the turn, which is given back while the step waits for another machine
// (Elsewhere) or for memory (WithRoom).
func InTurn(ctx context.Context, turns Turns, step func(context.Context) error) error {
	t := &turn{turns: turns}
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

// Yield lets others compute before a step goes on, where they are due: a step that takes long calls it every few
// milliseconds. It returns ctx's error where that ends first. It is called by the goroutine of the step.
func Yield(ctx context.Context) error { return Elsewhere(ctx, ctx.Err) }

type idleKey struct{}

// WithIdle lets a request say that it waits for a model behind an interface, and with goOn that it
// goes on, by the goroutine that searches.
func WithIdle(ctx context.Context, idle func() (goOn func())) context.Context {
	return context.WithValue(ctx, idleKey{}, idle)
}

// wait says that a request waits for a model behind an interface, until goOn.
func wait(ctx context.Context) (goOn func()) {
	if idle, ok := ctx.Value(idleKey{}).(func() func()); ok {
		return idle()
	}
	return func() {}
}

// Beside returns the context for what another goroutine waits for while a step goes on: the turn stays
// with the step, so nothing gives it back or takes it twice.
func Beside(ctx context.Context) context.Context { return context.WithValue(ctx, turnKey{}, nil) }
