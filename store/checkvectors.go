package store

import (
	"fmt"
	"math"

	"example.org/conclave/internal/corpus"
)

// CheckVectors returns an error unless there is one vector, or with late one list of vectors, for each of passages,
// in the same order, and CheckVector accepts each. The error names the first passage whose vector is wrong. dimension
// is the number of elements of a vector, or of each vector of a list.
func CheckVectors(vectors [][]float32, passages []corpus.Passage, dimension int, late bool) error {
	if len(vectors) != len(passages) {
		return fmt.Errorf("the encoder gave %d vectors for %d passages", len(vectors), len(passages))
	}
	for i, v := range vectors {
		if err := CheckVector(v, dimension, late); err != nil {
			return fmt.Errorf("the vector of passage %q %w", passages[i].ID, err)
		}
	}
	return nil
}

// CheckVector returns an error unless v holds finite numbers only: dimension of them, or, if late, one or more vectors
// of dimension numbers each, one after another. The error is a predicate, such as "has 3 numbers, the expert says 384":
// put the name of the vector before it.
func CheckVector(v []float32, dimension int, late bool) error {
	switch {
	case late && (len(v) == 0 || len(v)%dimension != 0):
		return fmt.Errorf("has %d numbers, which is no list of vectors of %d", len(v), dimension)
	case !late && len(v) != dimension:
		return fmt.Errorf("has %d numbers, and the expert's vectors have %d", len(v), dimension)
	}
	for i, value := range v {
		if math.IsNaN(float64(value)) || math.IsInf(float64(value), 0) {
			return fmt.Errorf("has %v as number %d", value, i)
		}
	}
	return nil
}
