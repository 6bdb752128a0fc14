package run

import (
	"time"
)

// The sources have to answer before the request ends, so that there is time to make an answer of what they found: by a
// fourth (Reserved) of the request's time, and at most by ReservedMost.
const (
	Reserved     = 4
	ReservedMost = 100 * time.Millisecond
)

// ReadingMost is the most time that the sources leave to each of reader and reranker, which get a quarter of the
// request's time each.
const ReadingMost = 500 * time.Millisecond
