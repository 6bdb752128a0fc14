package store

import (
	"errors"
	"time"
)

// ErrClosed is the error of a change after Close.
var ErrClosed = errors.New("the collection is closed")

// ErrUnfinished is the error of a collection whose first build was interrupted, or has not ended
// yet.
var ErrUnfinished = errors.New("its first build was interrupted, or still runs")

// ErrTooMuch is the error of changes that are too many bytes to be made together.
var ErrTooMuch = errors.New("one group of changes is too large")

// Backlog says what was acknowledged and is not yet seen by searches.
type Backlog struct {
	Changes  int
	Oldest   time.Duration // how long the oldest waits
	LogBytes int64
	Segments int
	// Trouble is why the last change, flush or merge failed, until one succeeds; with
	// ErrUnsettled or ErrOtherWriter no change is acknowledged either.
	Trouble error
}

// ErrUnsettled is the error of a writer that does not know whether its last
// generation would survive a power cut. It changes nothing before it does; each
// attempt to write reads the disk anew.
var ErrUnsettled = errors.New("whether the last generation would survive a power cut is unknown")

// ErrOtherWriter is the error of a writer that is not alone. It changes nothing
// from then on.
var ErrOtherWriter = errors.New("another writer changed the collection")
