package handlers

import (
	"context"
	"time"
)

// workClock ends a context, with the cause context.DeadlineExceeded, after a given time of work. It stands still while
// part of the answer is sent, since a slow client must not cost working time. It is for one goroutine.
type workClock struct {
	ctx   context.Context
	timer *time.Timer
	left  time.Duration
	since time.Time // it goes
}

// newClock returns a running clock whose k.ctx, derived from ctx, is cancelled after this much time of work with the
// cause context.DeadlineExceeded. The caller must call stop when the work is done, which cancels k.ctx too.
func newClock(ctx context.Context, left time.Duration) (k *workClock, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	k = &workClock{ctx: ctx, left: left, since: time.Now()}
	k.timer = time.AfterFunc(left, func() { cancel(context.DeadlineExceeded) })
	return k, func() {
		k.timer.Stop()
		cancel(nil)
	}
}

// hasEnded reports whether the time has run out.
func (k *workClock) hasEnded() bool { return context.Cause(k.ctx) == context.DeadlineExceeded }

// shorten reduces the time left to at most whole-passed. It does nothing if the clock stands still or has run out.
func (k *workClock) shorten(whole, passed time.Duration) {
	if k.timer.Stop() {
		k.left = min(k.left, max(whole-passed, 0))
		k.since = time.Now()
		k.timer.Reset(k.left)
	}
}

// pause stops the clock until goOn is called.
func (k *workClock) pause() (goOn func()) {
	if !k.timer.Stop() {
		return func() {} // it is over
	}
	k.left -= time.Since(k.since)
	return func() {
		k.since = time.Now()
		k.timer.Reset(max(k.left, 0))
	}
}
