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

// CheckMade refuses the vectors that an encoder made of passages where they are not as its kind has them.
func CheckMade(x PassageEncoder, vectors [][]float32, of []corpus.Passage) error {
	if IsSparse(x) {
		return CheckLists(vectors, of, x.Dimension())
	}
	return CheckVectors(vectors, of, x.Dimension(), x.Late())
}

// CheckLists works as CheckVectors does for lists of pairs, which may be empty.
func CheckLists(vectors [][]float32, of []corpus.Passage, pair int) error {
	if len(vectors) != len(of) {
		return fmt.Errorf("the encoder gave %d vectors for %d passages", len(vectors), len(of))
	}
	for i, v := range vectors {
		if len(v) == 0 {
			continue
		}
		if err := CheckVector(v, pair, true); err != nil {
			return fmt.Errorf("the vector of passage %q %w", of[i].ID, err)
		}
	}
	return nil
}
