// Package tensors reads the weights that a graph is made of, or lists them.
package tensors

import "fmt"

// Weights returns the tensors of a checkpoint as float32, row by row, by their names.
type Weights interface {
	// Tensor returns a tensor's values. It fails, and names the tensor, if it is missing or has another shape.
	Tensor(name string, shape ...int) ([]float32, error)
}

// TensorShape is the name and the shape of a tensor.
type TensorShape struct {
	Name  string
	Shape []int
}

// Loader reads tensors; without Weights it only records which would be read.
type Loader struct {
	Weights Weights
	Wanted  []TensorShape // recorded by Read, in order
	// Err is the first error. Tensors that are read after it are zeros, so that only the code that writes a graph has
	// to look at it.
	Err error
}

// Naming reports whether tensors are only recorded in Wanted and not read: there are no Weights.
func (r *Loader) Naming() bool { return r.Weights == nil }

// Read returns the values of a tensor, row by row. If it is missing or has another shape, Err is set, and this and
// all later tensors are zeros of their shapes. While tensors are only recorded, it appends to Wanted and returns
// nil.
func (r *Loader) Read(name string, shape ...int) []float32 {
	if r.Naming() {
		r.Wanted = append(r.Wanted, TensorShape{name, shape})
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
