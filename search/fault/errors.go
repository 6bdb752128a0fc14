// Package fault declares the errors that a front end shows to its users as they are.
package fault

import (
	"fmt"
)

// ErrorKind says what went wrong from the caller's point of view. Front ends map
// kinds to their own codes in one table.
type ErrorKind int

// The kinds of error.
const (
	Invalid     ErrorKind = iota + 1 // a value is outside its range, or names something unknown
	NotFound                         // no such passage or expert
	Conflict                         // the stored version is another one
	Overloaded                       // a queue is full; try again later
	Unavailable                      // nothing could answer
	Deadline                         // the time ran out with nothing answered
)

// Error is an error that a front end shows to its user as it is: what was
// wrong, with which value, and what is allowed.
type Error struct {
	Kind   ErrorKind
	Code   string // stable, snake case: "unknown_expert"
	Detail string
	Fields []FieldError
	Err    error // cause, for the log
}

// FieldError points at one part of a request.
type FieldError struct {
	Pointer string // JSON pointer: "/experts/1"
	Detail  string
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Detail, e.Err)
	}
	return e.Detail
}

func (e *Error) Unwrap() error { return e.Err }
