package handlers

import (
	"context"
	"time"
)

// clock ends a context, with the cause context.DeadlineExceeded, after a given time of work. It stands still while part
// of the answer is sent, since a slow client must not cost working time. It is for one goroutine.
type clock struct {
	ctx   context.Context
	timer *time.Timer
	left  time.Duration
	since time.Time // it goes
}

// newClock returns a running clock with this much time left. Call stop when the work is done.
func newClock(ctx context.Context, left time.Duration) (k *clock, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	k = &clock{ctx: ctx, left: left, since: time.Now()}
	k.timer = time.AfterFunc(left, func() { cancel(context.DeadlineExceeded) })
	return k, func() {
		k.timer.Stop()
		cancel(nil)
	}
}

// over reports whether the time has run out.
func (k *clock) over() bool { return context.Cause(k.ctx) == context.DeadlineExceeded }

// shorten reduces the time left to at most whole-passed. It does nothing if the clock stands still or has run out.
func (k *clock) shorten(whole, passed time.Duration) {
	if k.timer.Stop() {
		k.left = min(k.left, max(whole-passed, 0))
		k.since = time.Now()
		k.timer.Reset(k.left)
	}
}

// pause stops the clock until goOn is called.
func (k *clock) pause() (goOn func()) {
	if !k.timer.Stop() {
		return func() {} // it is over
	}
	k.left -= time.Since(k.since)
	return func() {
		k.since = time.Now()
		k.timer.Reset(max(k.left, 0))
	}
}
