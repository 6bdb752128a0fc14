package encoder

import (
	"context"
	"errors"
	"fmt"

	ort "github.com/yalue/onnxruntime_go"
)

// output is where a graph writes: float32 of a shape that is known before.
type output struct {
	shape ort.Shape
	data  []float32
}

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

// rowOutput returns the output for one of the rows.
func (o *output) rowOutput(i int) []float32 {
	n := len(o.data) / int(o.shape[0])
	return o.data[i*n : (i+1)*n : (i+1)*n]
}

// runGraph runs a graph whose inputs all have one shape; the graph writes to outputs. A graph whose
// output has another shape is an error. It ends
// early, with ctx's error, when ctx does.
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

// runOn runs the session on inputs of any shapes, which stay the caller's.
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

// recoverPanic turns a panic of the wrapper into an error: it indexes into slices
// whose lengths a broken graph decides.
func recoverPanic(err *error) {
	if failure := recover(); failure != nil {
		*err = errors.Join(*err, fmt.Errorf("the ONNX Runtime wrapper panicked: %v", failure))
	}
}
