package run

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"example.org/conclave/internal/disk"
)

// Guard runs step and returns its error. It turns a panic into an error with the stack, and a fault in a mapped file
// that was cut into disk.ErrFault. An expert may be a remote engine, a foreign model or a third party's index: if one
// breaks, it is left out, and the server goes on.
func Guard(step func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return disk.Survive(step)
}

// Overloaded reports whether err, or an error that it wraps, says that a queue was full: it has a method Overloaded()
// bool that returns true.
func Overloaded(err error) bool {
	var full interface{ Overloaded() bool }
	return errors.As(err, &full) && full.Overloaded()
}

// AdviceOf returns the advice to the caller that err, or an error that it wraps, has (a method Advice() string); "" if
// none has.
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

// Milliseconds returns a duration in milliseconds, rounded to microseconds.
func Milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}
