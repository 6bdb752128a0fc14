// Package storage declares what a store gives to searches: a Corpus hands out Views, and a View is one generation of a
// collection with its passages, its indexes of vectors and of words, and its vocabulary. Filters and facets, which
// stores evaluate, are declared here too.
//
// An interface that is named as optional is implemented by some stores; searches ask for it with a type assertion.
package storage

import (
	"context"

	"example.org/conclave/internal/rank"
)

// Corpus hands out the newest generation.
type Corpus interface{ Acquire() View }

// View is one generation of a collection. Its ordinals mean the same passages
// until it is released.
type View interface {
	Indexes
	Generation() uint64
	Passages() Passages
	// Index describes what the generation has of an expert; false: nothing.
	Index(expert string) (IndexInfo, bool)
	// Among is the same indexes, which find only what the filter lets through,
	// and how many passages that is, as soon as that is known. The scores stay what they are without the
	// filter. It is of use until the View is released.
	Among(ctx context.Context, f Filter) (Indexes, func(context.Context) (int, error), error)
	// Release is called once, when nothing uses the view any more.
	Release()
}

// Collected is a View of several collections, of which more than one may have a passage of an id.
type Collected interface {
	// CollectionOf returns the name of the one that a passage is of.
	CollectionOf(passage rank.Ordinal) string
	// LookupIn works as Passages.Lookup does, in one collection by its name.
	LookupIn(ctx context.Context, collection string, ids []string) ([]Found, error)
}

// Indexes are what sources search.
type Indexes interface {
	// Vectors is the index of an expert, or false when this generation has none.
	Vectors(expert string) (VectorIndex, bool)
	// Words is BM25, or nil when this generation has none.
	Words() WordIndex
	// Phrases is BM25 over phrases, or nil when this generation has none.
	Phrases() WordIndex
	// Prefetch says of which passages the scores will be asked for next, of every index
	// that was asked or handed out. Indexes on another machine fetch them in one request,
	// for which the question waits; the others do nothing. Those that are gone were deleted
	// since they were found.
	Prefetch(ctx context.Context, passages []rank.Ordinal) (gone []rank.Ordinal, err error)
}

// IndexInfo is what one generation has of an expert.
type IndexInfo struct {
	Kind     string // "hnsw", "flat", "coder", "late"
	Passages int
	Rows     int    // of the index, of deleted passages too
	Parts    bool   // vectors are of parts of passages
	Owner    string // the expert whose vectors these are; "": its own
	// MostExact is how many passages an exact search compares with at most; 0: any number.
	MostExact int
	Recall    map[string]float64 // "recall@10", "recall@100" against exact search, as measured at build
	Warnings  []string           // for the operator
}

// Separable is Indexes that remember what they were asked, since Prefetch fetches scores by all of that.
type Separable interface {
	// Separate returns the same indexes, which were asked nothing yet.
	Separate() Indexes
}

// Gathering is Indexes on another machine that send the first searches of several sources together.
type Gathering interface {
	// Gather says that so many sources will search. left has to be called as often: when a source has ended,
	// whether it searched or not.
	Gather(n int) (left func())
}
