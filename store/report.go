package store

import (
	"fmt"

	"example.org/conclave/ann"
	"example.org/conclave/internal/corpus"
)

// BuildReport says what a build made.
type BuildReport struct {
	Generation uint64            `json:"generation"`
	Segment    string            `json:"segment"`         // the new one; empty when none was made
	Passages   int               `json:"passages"`        // new in a segment, encoded for a new expert, or analysed anew
	Replaced   int               `json:"replaced"`        // passages that were there before and made way
	Skipped    int               `json:"skipped"`         // bad ones that BadPassage let pass
	There      int               `json:"there,omitempty"` // with this content and these vectors
	Copies     int               `json:"copies"`          // passages with title and text of another one before them
	Bytes      int64             `json:"bytes"`           // of the new files
	Recall     map[string]Recall `json:"recall"`
	// Cut is how many passages have text behind the windows in which they are read (WindowReader).
	Cut int `json:"-"`
}

// Recall is the share of the hits of exact search that an index finds. It is measured
// with vectors of the index itself, drawn with the seed.
type Recall struct {
	Stored ann.MeasuredRecall `json:"stored"`
}

// ClashError says that two passages have one id.
type ClashError struct {
	ID    string
	Place corpus.Place // of the second
	First string       // where the first one is, for people
	// Stored says that the first one was in the collection before.
	Stored bool
}

// Error names the id and the places of both passages that have it.
func (e *ClashError) Error() string {
	return fmt.Sprintf("%s: the id %q is taken by %s (ids must differ)", e.Place, e.ID, e.First)
}
