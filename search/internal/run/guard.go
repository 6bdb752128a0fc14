package run

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// ErrFault is the error of a source one of whose mapped files cannot be read.
var ErrFault = errors.New("a file that is mapped into memory cannot be read: it was cut, or its disk fails")

// Guard runs step and turns a panic into an error. An expert may be a remote engine, a
// foreign model or a third party's index: if one breaks, it is left out, and the server
// goes on. The same holds if its mapped file was truncated or its disk fails, which the
// system reports by a fault (SIGBUS) when the file is read.
func Guard(step func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch r := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }: // a runtime.Error of a fault
			err = fmt.Errorf("%w: fault at %#x\n%s", ErrFault, r.Addr(), debug.Stack())
		default:
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return step()
}

// Overloaded reports whether err says that a queue was full.
func Overloaded(err error) bool {
	var full interface{ Overloaded() bool }
	return errors.As(err, &full) && full.Overloaded()
}

// AdviceOf returns an error's advice to the caller, "" if it has none.
func AdviceOf(err error) string {
	var known interface{ Advice() string }
	if errors.As(err, &known) {
		return known.Advice()
	}
	return ""
}

// CheckCaller returns an error if the request was canceled because its caller disconnected; nil if not, also after a
// deadline.
func CheckCaller(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("the caller has gone: %w", ctx.Err())
	}
	return nil
}

func Milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}
