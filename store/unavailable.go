package store

// UnavailableError is the error of a store that does not answer now, or lacks a part of the collection for a while.
// Nothing is damaged, and trying again later helps.
type UnavailableError struct{ Err error }

// Error returns the text of Err.
func (e *UnavailableError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }
