package cli

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// ending bounds how long a command may go on after it was interrupted. Without it, a system call that never returns, as
// on a file system that interrupts it again and again, would keep the process until somebody kills it. What was
// published is safe at any moment. Its methods may be called by several goroutines at once. Grace is the allowed time
// in nanoseconds.
type ending struct{ Grace atomic.Int64 }

// baseGrace is the time that a command has after an interruption to end by itself, for example to remove what it had
// begun to write.
const baseGrace = 15 * time.Second

// NewEnding returns an ending with which a command may go on for the time baseGrace after an interruption.
func NewEnding() *ending {
	e := &ending{}
	e.Grace.Store(int64(baseGrace))
	return e
}

// Allow sets the time that the command may go on after an interruption to baseGrace + more. more is for requests that
// the command must answer first. It does nothing if e is nil.
func (e *ending) Allow(more time.Duration) {
	if e != nil {
		e.Grace.Store(int64(baseGrace + more))
	}
}

// Watch starts a goroutine that, when ctx ends, waits for the allowed time, writes to Terminal.Err that something did
// not end, and calls end. Call stop, exactly once, when the command has ended: end is not called after that.
func (e *ending) Watch(ctx context.Context, term Terminal, end func()) (stop func()) {
	ended := make(chan struct{})
	go func() {
		select {
		case <-ended:
			return
		case <-ctx.Done():
		}
		grace := time.Duration(e.Grace.Load())
		select {
		case <-ended:
		case <-time.After(grace):
			_, _ = fmt.Fprintf(term.Err, "conclave: interrupted; something did not end within %s and is left as it is\n", grace)
			end()
		}
	}()
	return func() { close(ended) }
}
