package storage

import (
	"context"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
)

// Passages are the texts. A passage stays valid after the View is released.
type Passages interface {
	// Len is how many there are.
	Len() int
	// Ordinals is one more than the highest ordinal: Len, or more if passages were
	// deleted.
	Ordinals() int
	// Read returns passages in the order of their ordinals in the list. One that was
	// deleted since it was found has its id alone; within a generation of a folder none is.
	Read(ctx context.Context, passages []rank.Ordinal) ([]corpus.Passage, error)
	// Sample is at most n passages that were chosen without a question, the same ones
	// for as long as the generation is, and of the same ids wherever they are stored
	// (corpus.SampleKey). In a store without generations they are of some seconds ago, and
	// some may have been deleted.
	Sample(n int) []rank.Ordinal
	// Size is how many bytes a passage takes, uncompressed, of one that was found. It
	// reads none of its text.
	Size(rank.Ordinal) (int, error)
	// SortByID puts passages in the order of their ids, in place: that is how equal
	// scores rank. The error is that of a damaged store.
	SortByID([]rank.Ordinal) error
	// After is the passages whose ids come after one in the order of their bytes,
	// at most so many; "" is before all.
	After(ctx context.Context, id string, limit int) ([]rank.Ordinal, error)
	// DocumentsAfter is those of them that are the first of their document.
	DocumentsAfter(ctx context.Context, id string, limit int) ([]rank.Ordinal, error)
	// IDs returns the ids of passages that were found.
	IDs([]rank.Ordinal) ([]string, error)
	// Lookup finds passages by their ids, in the order of these. Their Size is known then.
	Lookup(ctx context.Context, ids []string) ([]Found, error)
	// Ordinal finds a passage by its id. The error is that of a damaged store.
	Ordinal(ctx context.Context, id string) (rank.Ordinal, bool, error)
}

// Found is a passage that was looked for by its id.
type Found struct {
	Ordinal rank.Ordinal
	There   bool
}

// IsDeleted reports that Read found no passage any more.
func IsDeleted(p corpus.Passage) bool { return p.Text == "" && p.Title == "" }

// Fingerprinted are Passages that tell copies: equal numbers are of passages with the same
// title and text, but for white space and case; 0 is not known.
type Fingerprinted interface {
	Fingerprints(ctx context.Context, passages []rank.Ordinal) ([]uint64, error)
}

// AtHand is implemented by Passages that are read in microseconds, such as those in memory.
type AtHand interface{ AtHand() }
