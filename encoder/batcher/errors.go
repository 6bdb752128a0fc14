package batcher

import (
	"errors"
	"fmt"
)

// ErrClosed answers work that comes after Close.
var ErrClosed = errors.New("the encoder is closed")

// OverloadedError answers work that finds the queue full. Nothing was done
// for it; trying again a moment later may succeed.
type OverloadedError struct {
	What  string // "questions" or "requests for passages"
	Limit int
}

func (e *OverloadedError) Error() string {
	return fmt.Sprintf(
		"the encoder's queue is full: %d %s are waiting, which is the limit; try again in a moment",
		e.Limit,
		e.What,
	)
}

// Overloaded returns true. Callers that must not import this package find the
// method with errors.As and an interface.
func (e *OverloadedError) Overloaded() bool { return true }
