package store

import (
	"example.org/conclave/internal/corpus"
)

// Stream gives the passages of a build, one after the other, io.EOF behind the
// last. corpus.Parser and corpus.Series are streams.
type Stream interface {
	Next() (corpus.Passage, error)
	// Place says where the passage that Next returned last comes from.
	Place() corpus.Place
	// Progress is how many bytes were read of how many; -1 when unknown.
	Progress() (done, total int64)
}
