package storage

import (
	"context"
	"errors"

	"example.org/conclave/internal/rank"
)

// VectorIndex holds the passages' vectors of one expert.
type VectorIndex interface {
	// Search returns the k passages with the highest inner products, in
	// rank.Compare's order; exact asks for all of them to be compared. With a
	// *PartialError they are not of all passages.
	Search(ctx context.Context, query []float32, k int, exact bool) ([]rank.Hit, error)
	// Scores writes to out the exact inner products of query with the stored
	// vectors of the passages.
	Scores(ctx context.Context, query []float32, passages []rank.Ordinal, out []float32) error
}

// PartIndex is a VectorIndex of an expert that has a vector for each part of a passage's
// text. A passage's score is the greatest of its parts'.
type PartIndex interface {
	// Best is the part whose vector has the greatest inner product with query, the
	// first of equals, and that product.
	Best(query []float32, passage rank.Ordinal) (rank.Span, float32, error)
}

// Expecting is a VectorIndex, on another machine, to which it is said what it will be asked to score
// passages for, before Prefetch names them. The same vector has to be given to Scores.
type Expecting interface {
	Expect(query []float32)
}

// FetchedVectors is a TokenVectors that has to be told before of which passages Vector will be called.
type FetchedVectors interface {
	FetchVectors(ctx context.Context, passages []rank.Ordinal) error
}

// TokenVectors is a VectorIndex of late interaction that gives a passage's vectors, one
// after the other. There may be more than tokens: copies of the last.
type TokenVectors interface {
	Vector(passage rank.Ordinal) ([]float32, error)
}

// IsPartial reports whether an error came beside a result that counts, as a *PartialError does.
func IsPartial(err error) bool { return errors.As(err, new(*PartialError)) }

// PartialError is the error beside hits, counts or other results that are not of all passages: the others could
// not be searched. They count, and the answer names their source under Degraded.
type PartialError struct {
	Reason string // for the user
	Err    error
}

func (e *PartialError) Error() string { return e.Reason + ": " + e.Err.Error() }

func (e *PartialError) Unwrap() error { return e.Err }
