package storage

import (
	"context"
	"errors"

	"example.org/conclave/internal/rank"
)

// VectorIndex has the vectors of the passages by one expert.
type VectorIndex interface {
	// Search returns the k passages with the highest inner products, in rank.Compare's order. exact compares all
	// vectors, without an approximate index. With a *PartialError only a part of the passages was searched.
	Search(ctx context.Context, query []float32, k int, exact bool) ([]rank.Hit, error)
	// Scores writes to out the exact inner product of query with the vector of each passage, rank.NoVector for one
	// that has none.
	Scores(ctx context.Context, query []float32, passages []rank.Ordinal, out []float32) error
}

// PartIndex is optionally implemented by a VectorIndex of an expert that has a vector for each part of a passage's
// text. A passage's score is the greatest of its parts' scores.
type PartIndex interface {
	// Best returns the part of a passage whose vector has the greatest inner product with query, the first of equals,
	// and that product.
	Best(query []float32, passage rank.Ordinal) (rank.Span, float32, error)
}

// ScorePrefetcher is optionally implemented by a VectorIndex on another machine, which fetches scores in advance.
type ScorePrefetcher interface {
	// Expect announces that Scores will be called with query, so that Indexes.Prefetch fetches these scores too.
	Expect(query []float32)
}

// FetchedVectors is optionally implemented by a TokenVectors on another machine, which fetches vectors in advance.
type FetchedVectors interface {
	// FetchVectors fetches the vectors of passages. Vector may be called only for these.
	FetchVectors(ctx context.Context, passages []rank.Ordinal) error
}

// TokenVectors is optionally implemented by a VectorIndex of late interaction.
type TokenVectors interface {
	// Vector returns the vectors of a passage's tokens, one after the other, none if it has no vector. Copies of the
	// last one may follow.
	Vector(passage rank.Ordinal) ([]float32, error)
}

// IsPartial reports whether err is or wraps a *PartialError: the result that it came with is usable.
func IsPartial(err error) bool { return errors.As(err, new(*PartialError)) }

// PartialError is the error next to hits, counts or other results of only a part of the passages: the others could not
// be searched. The results are used, and the answer names the source under Degraded.
type PartialError struct {
	Reason string // for users
	Err    error  // the cause, for the log
}

// Error returns the reason and the cause.
func (e *PartialError) Error() string { return e.Reason + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *PartialError) Unwrap() error { return e.Err }
