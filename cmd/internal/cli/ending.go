package cli

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Ending bounds how long a command may go on after it was interrupted. A call of the system
// that never returns, as where a file system interrupts it without end, would otherwise keep
// the process until somebody kills it. What was published is safe at any moment.
type ending struct{ Grace atomic.Int64 }

// unhurried is what a command has to end by itself: to remove what it had begun to write.
const unhurried = 15 * time.Second

// NewEnding returns an ending that lets a command go on for unhurried after an interruption.
func NewEnding() *ending {
	e := &ending{}
	e.Grace.Store(int64(unhurried))
	return e
}

// Allow sets the time that the command may go on after an interruption to unhurried and more, for requests that it must
// answer first. It does nothing on nil.
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
