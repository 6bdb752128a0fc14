// Package fault declares the errors that a front end shows to its users as they are.
package fault

import (
	"fmt"
)

// ErrorKind says whose fault an error is and whether to try again. Front ends map kinds to their own codes in one
// table.
type ErrorKind int

// The kinds of error.
const (
	Invalid     ErrorKind = iota + 1 // a value is outside its range, or names something unknown
	NotFound                         // there is no such passage, document or expert
	Conflict                         // the stored version is not the expected one
	Overloaded                       // a queue is full; try again later
	Unavailable                      // nothing could answer
	Deadline                         // the time ended before there was an answer
)

// Error is an error that a front end shows to users as it is: what was wrong, with which value, and what is allowed.
type Error struct {
	Kind   ErrorKind
	Code   string // stable, snake case: "unknown_expert"
	Detail string // for users
	Fields []FieldError
	Err    error // the cause, for the log; nil: there is none
}

// FieldError says what is wrong with one part of a request.
type FieldError struct {
	Pointer string // JSON pointer: "/experts/1"
	Detail  string
}

// Error returns Detail and, if there is one, the cause.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Detail, e.Err)
	}
	return e.Detail
}

// Unwrap returns the cause; nil if there is none.
func (e *Error) Unwrap() error { return e.Err }
