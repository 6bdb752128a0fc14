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

// searching returns a context for searching and reading, which ends before the time that is reserved for writing
// begins.
func (p *pass) searching(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.writing == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, p.searched)
}

// checkCaller returns an error if the request was canceled because its caller disconnected; nil if not, also after a
// deadline.
func checkCaller(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("the caller has gone: %w", ctx.Err())
	}
	return nil
}

// compute runs step with a turn of the engine and returns its error, as InTurn does.
func (e *Engine) compute(ctx context.Context, step func(context.Context) error) error {
	return InTurn(ctx, e.turns, step)
}

// InTurn waits for a turn, the use of a processor, calls step with it, and returns step's error. If ctx ends before the
// turn comes, step is not called and the error is ctx's. While step waits for another machine (Elsewhere) or for memory
// (WithRoom), the turn is given back.
func InTurn(ctx context.Context, turns Turns, step func(context.Context) error) error {
	t := &turn{turns: turns}
	if err := t.take(ctx); err != nil {
		return err
	}
	defer t.giveBack()
	return step(context.WithValue(ctx, turnKey{}, t))
}

// turn is the turn of one step of InTurn. Only the goroutine of the step uses it.
type turn struct {
	turns Turns
	done  func() // nil while the step has none
}

type turnKey struct{}

// take waits for a turn. It returns ctx's error, and holds none, if ctx ends first.
func (t *turn) take(ctx context.Context) (err error) {
	t.done, err = t.turns.Turn(ctx)
	return err
}

// giveBack gives the turn back, if the step has one.
func (t *turn) giveBack() {
	if t.done != nil {
		t.done()
		t.done = nil
	}
}

// Elsewhere calls wait, which waits for another machine, and returns its error. The turn of the step that ctx belongs
// to (InTurn) is given back meanwhile; if ctx ends before there is a new one, the error is ctx's. Call it in the
// goroutine of the step.
func Elsewhere(ctx context.Context, wait func() error) error {
	t, computes := ctx.Value(turnKey{}).(*turn)
	if !computes || t.done == nil { // none to give back, or it is given back already, by a call around this one
		return wait()
	}
	t.giveBack()
	return cmp.Or(wait(), t.take(ctx))
}

// Yield gives the turn of a step back and takes a new one, so that requests that wait get theirs first. A long step
// calls it every few milliseconds, in its own goroutine. It returns ctx's error if that has ended. Without a turn it
// only checks ctx.
func Yield(ctx context.Context) error { return Elsewhere(ctx, ctx.Err) }

type idleKey struct{}

// WithIdle returns a context whose searches call idle when they begin to wait for a model on another machine, and goOn
// when they continue. Both are called in the goroutine that searches.
func WithIdle(ctx context.Context, idle func() (goOn func())) context.Context {
	return context.WithValue(ctx, idleKey{}, idle)
}

// wait calls the idle function of WithIdle and returns its goOn; without one, goOn does nothing.
func wait(ctx context.Context) (goOn func()) {
	if idle, ok := ctx.Value(idleKey{}).(func() func()); ok {
		return idle()
	}
	return func() {}
}

// Beside returns a context without the turn of ctx's step, for another goroutine that works while the step goes on:
// what it does neither gives the step's turn back nor takes one twice.
func Beside(ctx context.Context) context.Context { return context.WithValue(ctx, turnKey{}, nil) }
