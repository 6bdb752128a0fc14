package encoder

import (
	"context"
	"errors"
	"fmt"

	ort "github.com/yalue/onnxruntime_go"
)

// output is memory for one output of a graph, float32, whose shape is known before the run.
type output struct {
	shape ort.Shape
	data  []float32
}

// newOutput returns an output of zeros, with a shape of rows and then the dimensions in shape.
func newOutput(rows int, shape ...int) output {
	o := output{shape: ort.NewShape(int64(rows))}
	size := rows
	for _, n := range shape {
		o.shape = append(o.shape, int64(n))
		size = size * n
	}
	o.data = make([]float32, size)
	return o
}

// rowOutput returns the part of row number i, in place.
func (o *output) rowOutput(i int) []float32 {
	n := len(o.data) / int(o.shape[0])
	return o.data[i*n : (i+1)*n : (i+1)*n]
}

// runGraph runs a graph whose inputs all have one shape, and writes to outputs. It waits for the end of the run. It
// fails if the graph's outputs have other shapes, and with ctx's error if that ends first; a panic of the wrapper
// becomes the error.
func runGraph[T ort.TensorData](
	ctx context.Context,
	inner runner,
	shape ort.Shape,
	inputs [][]T,
	outputs []output,
) (err error) {
	defer recoverPanic(&err)
	given := make([]ort.Value, 0, len(inputs))
	defer func() { destroyValues(given) }()
	for _, data := range inputs {
		value, err := ort.NewTensor(shape, data)
		if err != nil {
			return err
		}
		given = append(given, value)
	}
	return runOn(ctx, inner, given, outputs)
}

// runOn runs a session on inputs of any shapes, which the caller frees, and writes to outputs. It fails with ctx's
// error if that ends first, which it also makes the run end for. A panic of the wrapper becomes the error.
func runOn(ctx context.Context, inner runner, given []ort.Value, outputs []output) (err error) {
	defer recoverPanic(&err)
	if err := ctx.Err(); err != nil {
		return err
	}
	written := make([]ort.Value, 0, len(outputs))
	defer func() { destroyValues(written) }()
	for _, o := range outputs {
		value, err := ort.NewTensor(o.shape, o.data)
		if err != nil {
			return err
		}
		written = append(written, value)
	}
	options, err := ort.NewRunOptions()
	if err != nil {
		return err
	}
	defer func() { _ = options.Destroy() }()
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = options.Terminate()
		close(ended)
	})
	err = inner.RunWithOptions(given, written, options)
	if !stop() {
		<-ended // options must outlive Terminate
		if err != nil {
			return ctx.Err()
		}
	}
	return err
}

// destroyValues frees the values, ignoring errors.
func destroyValues(values []ort.Value) {
	for _, v := range values {
		_ = v.Destroy()
	}
}

// recoverPanic, deferred, adds a panic of the wrapper to *err: it indexes into slices whose lengths a broken graph
// decides.
func recoverPanic(err *error) {
	if failure := recover(); failure != nil {
		*err = errors.Join(*err, fmt.Errorf("the ONNX Runtime wrapper panicked: %v", failure))
	}
}
