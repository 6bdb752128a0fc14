package learned

import (
	"fmt"
)

// CheckVector returns an error unless a vector has dimension numbers and all are finite. Dimension 0 allows any number
// of them.
func CheckVector(vector []float32, dimension int) error {
	if dimension > 0 && len(vector) != dimension {
		return fmt.Errorf("the encoder gave %d numbers, not %d", len(vector), dimension)
	}
	for i, x := range vector {
		if x-x != 0 { // NaN or infinite
			return fmt.Errorf("the encoder gave %v at %d", x, i)
		}
	}
	return nil
}

// CheckTokens returns an error unless the numbers are one or more vectors of a dimension, one after the other, and all
// are finite. Dimension 0 allows any number of them, but not none.
func CheckTokens(vector []float32, dimension int) error {
	if len(vector) == 0 || dimension > 0 && len(vector)%dimension != 0 {
		return fmt.Errorf("the encoder gave %d numbers, which are no vectors of %d", len(vector), dimension)
	}
	return CheckVector(vector, 0)
}
