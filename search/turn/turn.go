// Package turn hands out turns to compute. A step of a request that needs a processor waits for a turn (Do), and gives
// it back while it waits for something else (Elsewhere) and now and then for others (Yield).
package turn

import (
	"cmp"
	"context"
)

// Turns limits how many computations run at the same time, usually to the number of processors. Encoders have queues of
// their own: do not wait for one with a turn.
type Turns interface {
	// Turn waits for a turn, first come first served. done gives it back, and has to be called. It returns ctx's error
	// if that ends first.
	Turn(ctx context.Context) (done func(), err error)
}

// UnlimitedTurns are Turns without a limit.
type UnlimitedTurns struct{}

// Turn implements Turns. It never waits or fails.
func (UnlimitedTurns) Turn(context.Context) (func(), error) { return func() {}, nil }

// Do waits for a turn, the use of a processor, calls step with it, and returns step's error. If ctx ends before the
// turn comes, step is not called and the error is ctx's. While step waits for another machine (Elsewhere) or for memory
// (search.Caller), the turn is given back.
func Do(ctx context.Context, turns Turns, step func(context.Context) error) error {
	t := &turn{turns: turns}
	if err := t.take(ctx); err != nil {
		return err
	}
	defer t.giveBack()
	return step(context.WithValue(ctx, turnKey{}, t))
}

// turnKey is the key of a context's value for the *turn of a step.
type turnKey struct{}

// turn is the turn of one step of Do. Only the goroutine of the step uses it.
type turn struct {
	turns Turns
	done  func() // nil while the step has none
}

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
// to (Do) is given back meanwhile; if ctx ends before there is a new one, the error is ctx's. Call it in the
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

// WithoutTurn returns a context without the turn of ctx's step, for another goroutine that works while the step goes
// on: what it does neither gives the step's turn back nor takes one twice.
func WithoutTurn(ctx context.Context) context.Context { return context.WithValue(ctx, turnKey{}, nil) }
