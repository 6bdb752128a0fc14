package storage

import (
	"context"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
)

// Passages are the texts of a view. A passage that was read stays valid after the View is released.
type Passages interface {
	// Len returns the number of passages.
	Len() int
	// Ordinals returns the highest ordinal plus one: Len, or more if passages were deleted.
	Ordinals() int
	// Read returns the passages with these ordinals, in their order. One that was deleted since it was found has only
	// its id (IsDeleted). A folder has no such passages within a generation.
	Read(ctx context.Context, passages []rank.Ordinal) ([]corpus.Passage, error)
	// Sample returns at most n random passages. They are the same in every call for a generation, and have the same ids
	// whatever the store (corpus.SampleKey). A store without generations draws them every few seconds, and some may
	// have been deleted since.
	Sample(n int) []rank.Ordinal
	// Size returns the uncompressed bytes of a passage that was found, without reading its text.
	Size(rank.Ordinal) (int, error)
	// SortByID sorts passages by their ids, in place. Equal scores are ranked in this order. It fails if the store is
	// damaged.
	SortByID([]rank.Ordinal) error
	// After returns at most limit passages whose ids come after id, in the order of the ids' bytes; "" comes before
	// all.
	After(ctx context.Context, id string, limit int) ([]rank.Ordinal, error)
	// DocumentsAfter returns, as After does, only passages that are the first of their document.
	DocumentsAfter(ctx context.Context, id string, limit int) ([]rank.Ordinal, error)
	// IDs returns the ids of passages that were found, in their order.
	IDs([]rank.Ordinal) ([]string, error)
	// Lookup finds passages by their ids, in the order of ids. Afterwards Size may be called for them.
	Lookup(ctx context.Context, ids []string) ([]Found, error)
	// Ordinal returns the ordinal of the passage with an id; false: there is none. It fails if the store is damaged.
	Ordinal(ctx context.Context, id string) (rank.Ordinal, bool, error)
}

// Found is the result of looking for a passage by its id. Ordinal is valid if There is true.
type Found struct {
	Ordinal rank.Ordinal
	There   bool
}

// IsDeleted reports whether a passage that Passages.Read returned was deleted before: it has neither title nor text.
func IsDeleted(p corpus.Passage) bool { return p.Text == "" && p.Title == "" }

// Fingerprinter is optionally implemented by Passages that can identify copies.
type Fingerprinter interface {
	// Fingerprints returns a number for each passage, in their order. Passages with the same title and text, apart from
	// white space and case, have the same number; 0: it is not known.
	Fingerprints(ctx context.Context, passages []rank.Ordinal) ([]uint64, error)
}

// AtHand is optionally implemented by Passages that are read in microseconds, such as those in memory. The method does
// nothing.
type AtHand interface{ AtHand() }
