// Package tensors reads the weights that a graph is made of, or lists them.
package tensors

import "fmt"

// Weights gives the tensors of a checkpoint as float32, row by row, by their names. A
// tensor that is not there, or has another shape, is an error that names it.
type Weights interface {
	Tensor(name string, shape ...int) ([]float32, error)
}

// Named is a tensor's name and shape.
type Named struct {
	Name  string
	Shape []int
}

// Loader reads tensors, or without Weights only notes which would be read.
type Loader struct {
	Weights Weights
	Wanted  []Named // that were noted
	// Err is the first error. What was read since is zeros, so that only the place that
	// writes a graph has to look at it.
	Err error
}

// Naming reports whether tensors are noted and not read.
func (r *Loader) Naming() bool { return r.Weights == nil }

// Read reads a tensor.
func (r *Loader) Read(name string, shape ...int) []float32 {
	if r.Naming() {
		r.Wanted = append(r.Wanted, Named{name, shape})
		return nil
	}
	n := 1
	for _, d := range shape {
		n *= d
	}
	if r.Err != nil {
		return make([]float32, n)
	}
	values, err := r.Weights.Tensor(name, shape...)
	if err == nil && len(values) != n {
		err = fmt.Errorf("tensor %q: %d values for the shape %v", name, len(values), shape)
	}
	if err != nil {
		r.Err = err
		return make([]float32, n)
	}
	return values
}
