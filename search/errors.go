package search

import (
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
)

// Error is an error that a front end shows to its user as it is: what was wrong, with which value, and what is allowed.
type Error = fault.Error

// ErrorKind says what went wrong from the caller's point of view.
type ErrorKind = fault.ErrorKind

// FieldError points at one part of a request.
type FieldError = fault.FieldError

// The kinds of error.
const (
	Invalid     = fault.Invalid     // a value is outside its range, or names something unknown
	NotFound    = fault.NotFound    // no such passage or expert
	Conflict    = fault.Conflict    // the stored version is another one
	Overloaded  = fault.Overloaded  // a queue is full; try again later
	Unavailable = fault.Unavailable // nothing could answer
	Deadline    = fault.Deadline    // the time ran out with nothing answered
)

// ErrFault is the error of a source one of whose mapped files cannot be read.
var ErrFault = run.ErrFault
