// Package storage declares what a store gives to searches: a Corpus returns Views, and a View is one generation of a
// collection with its passages, its indexes of vectors and of words, and its vocabulary. Filters and facets, which
// stores evaluate, are declared here too.
//
// An optional interface is implemented by some stores; searches ask for it with a type assertion.
package storage

import (
	"context"

	"example.org/conclave/internal/rank"
)

// Corpus is a collection as searches see it. Acquire returns a view of the newest generation; the caller has to release
// it.
type Corpus interface{ Acquire() View }

// View is one generation of a collection. An ordinal means the same passage until the view is released.
type View interface {
	Indexes
	Generation() uint64
	Passages() Passages
	// Index describes the index of an expert; false: the generation has none.
	Index(expert string) (IndexInfo, bool)
	// Among returns indexes of only the passages that match the filter, and a function that waits for their number.
	// Scores are the same as without the filter. The indexes are valid until the View is released. It returns an error
	// that wraps *conditions.MisfitError if the filter does not fit the fields.
	Among(ctx context.Context, f Filter) (Indexes, func(context.Context) (int, error), error)
	// Release is called once, when nothing uses the view any more.
	Release()
}

// MultiCollection is optionally implemented by a View of several collections. An id may then be that of several
// passages.
type MultiCollection interface {
	// CollectionOf returns the name of the collection of a passage.
	CollectionOf(passage rank.Ordinal) string
	// LookupIn finds passages of the collection with a name by their ids, as Passages.Lookup does.
	LookupIn(ctx context.Context, collection string, ids []string) ([]Found, error)
}

// Indexes are the indexes that sources search.
type Indexes interface {
	// Vectors returns the vector index of an expert; false: the generation has none.
	Vectors(expert string) (VectorIndex, bool)
	// Words returns the index of BM25 over words; nil: the generation has none.
	Words() WordIndex
	// Phrases returns the index of BM25 over phrases; nil: the generation has none.
	Phrases() WordIndex
	// Prefetch fetches the scores of passages, for every index and query that was searched, if the indexes are on
	// another machine; otherwise it does nothing. It takes one request and waits for it. gone are the passages that
	// were deleted since they were found.
	Prefetch(ctx context.Context, passages []rank.Ordinal) (gone []rank.Ordinal, err error)
	// Contains reports, for each passage in its order, whether searches of these indexes may find it: it is not deleted,
	// and of indexes that View.Among returned, it matches the filter.
	Contains(ctx context.Context, passages []rank.Ordinal) ([]bool, error)
}

// IndexInfo describes the index of an expert in one generation.
type IndexInfo struct {
	Kind     string // "hnsw", "flat", "coder", "late"
	Passages int
	Rows     int    // the number of vectors, with those of deleted passages
	Parts    bool   // vectors are of parts of passages
	Owner    string // the expert whose vectors these are; "": its own
	// MostExact is the greatest number of passages that an exact search can compare; 0: there is no limit.
	MostExact int
	Recall    map[string]float64 // "recall@10" and "recall@100" against exact search, as measured at build
	Warnings  []string           // for operators
}

// Separable is optionally implemented by Indexes that remember their queries, since Prefetch fetches scores for all of
// these.
type Separable interface {
	// Separate returns the same indexes without remembered queries.
	Separate() Indexes
}

// SearchBatcher is optionally implemented by Indexes on another machine, which send the first searches of several
// sources in one request.
type SearchBatcher interface {
	// Gather announces that n sources will search at the same time. left has to be called n times: each time a source
	// has ended, whether or not it searched.
	Gather(n int) (left func())
}
