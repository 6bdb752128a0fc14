package cli

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// ending bounds how long a command may go on after it was interrupted. Without it, a system call that never returns, as
// on a file system that interrupts it again and again, would keep the process until somebody kills it. What was
// published is safe at any moment. Grace is the allowed time in nanoseconds.
type ending struct{ Grace atomic.Int64 }

// unhurried is the time that a command has after an interruption to end by itself, for example to remove what it had
// begun to write.
const unhurried = 15 * time.Second

// NewEnding returns an ending with which a command may go on for the time unhurried after an interruption.
func NewEnding() *ending {
	e := &ending{}
	e.Grace.Store(int64(unhurried))
	return e
}

// Allow sets the time that the command may go on after an interruption to unhurried + more. more is for requests that
// the command must answer first. It does nothing if e is nil.
func (e *ending) Allow(more time.Duration) {
	if e != nil {
		e.Grace.Store(int64(unhurried + more))
	}
}

// Watch starts a goroutine that, when ctx ends, waits for the allowed time, says on the terminal that something did not
// end, and calls end. Call stop, once, when the command has ended.
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
