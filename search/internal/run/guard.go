package run

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"example.org/conclave/internal/disk"
)

// Guard runs step and turns a panic into an error. An expert may be a remote engine, a
// foreign model or a third party's index: if one breaks, it is left out, and the server
// goes on. A mapped file that was cut is disk.ErrFault, as disk.Survive says.
func Guard(step func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return disk.Survive(step)
}

// Overloaded reports whether an error says that a queue was full (a method Overloaded() bool).
func Overloaded(err error) bool {
	var full interface{ Overloaded() bool }
	return errors.As(err, &full) && full.Overloaded()
}

// AdviceOf returns what an error or one that it wraps tells the caller to do (a method Advice() string); "" if none
// does.
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
