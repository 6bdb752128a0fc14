package store

import (
	"fmt"

	"example.org/conclave/internal/corpus"
)

// IsSparse reports whether an encoder gives a passage a weight for each of some word pieces (SPLADE): pairs of an
// id, in ascending order, and a weight above 0, in one list of any length, which may be empty. Its Dimension is
// that of a pair, 2, and its index of the kind that compares such lists (ann.Sparse), whatever Index says. An
// encoder says so by a method Sparse.
func IsSparse(x Encoder) bool {
	s, ok := x.(interface{ Sparse() bool })
	return ok && s.Sparse()
}

// CheckMade returns an error unless vectors, which x made of passages, has one entry for each of them that
// fits the kind of x: a vector of Dimension numbers, a list of vectors if x is late, or a list of pairs, which may be
// empty, if x is sparse. All numbers have to be finite.
func CheckMade(x PassageEncoder, vectors [][]float32, passages []corpus.Passage) error {
	if IsSparse(x) {
		return CheckLists(vectors, passages, x.Dimension())
	}
	return CheckVectors(vectors, passages, x.Dimension(), x.Late())
}

// CheckLists returns an error unless vectors has one list for each of the passages, and each list is empty or a
// multiple of pair finite numbers. The error names the first passage whose list is wrong.
func CheckLists(vectors [][]float32, passages []corpus.Passage, pair int) error {
	if len(vectors) != len(passages) {
		return fmt.Errorf("the encoder gave %d vectors for %d passages", len(vectors), len(passages))
	}
	for i, v := range vectors {
		if len(v) == 0 {
			continue
		}
		if err := CheckVector(v, pair, true); err != nil {
			return fmt.Errorf("the vector of passage %q %w", passages[i].ID, err)
		}
	}
	return nil
}
