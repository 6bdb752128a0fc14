package run

import (
	"time"
)

// reserved is the share of a request's time that is left, when the last source has
// to be back, for making an answer of what the others found: a quarter, and never
// more than ReservedMost.
const (
	Reserved     = 4
	ReservedMost = 100 * time.Millisecond
)

// ReadingMost is the most that a reader, and a reranker, has of a request's time, of which each
// gets a quarter: the sources have to be back so much earlier.
const ReadingMost = 500 * time.Millisecond
