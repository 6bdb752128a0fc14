package encoder

import (
	"context"
	"errors"
	"fmt"
	"math"

	ort "github.com/yalue/onnxruntime_go"

	"conclave/models"
)

// session is one ONNX graph loaded into ONNX Runtime. It is safe for
// concurrent use.
type session struct {
	file     string
	inner    *ort.DynamicAdvancedSession
	types    bool // the graph takes token types
	oneByOne bool // a row's vector would depend on the rows beside it
	late     bool // the graph gives rows for tokens in place of one vector
	width    int  // of what it gives for a text or, if late, for a token
	pad      int64
}

// openSession loads an encoder's graph. Its vectors have dimension numbers,
// and if late, one for each token, one number more.
func openSession(path string, g models.Graph, dimension int, late bool, pad int32, t target) (*session, error) {
	inputs := []string{g.InputIDs, g.AttentionMask}
	if g.TokenTypeIDs != "" {
		inputs = append(inputs, g.TokenTypeIDs)
	}
	inner, err := load(path, inputs, g.Embedding, t)
	if err != nil {
		return nil, err
	}
	s := &session{
		file: path, inner: inner, types: g.TokenTypeIDs != "", oneByOne: g.OneByOne, late: late, width: dimension, pad: int64(pad),
	}
	if late {
		s.width++
	}
	return s, nil
}

func load(path string, inputs []string, output string, t target) (_ *ort.DynamicAdvancedSession, err error) {
	defer keepSignalHandlers()()
	defer guard(&err)
	options, err := t.options()
	if err != nil {
		return nil, err
	}
	defer func() { _ = options.Destroy() }()
	inner, err := ort.NewDynamicAdvancedSession(path, inputs, []string{output}, options)
	if err != nil {
		return nil, fmt.Errorf("loading %s into ONNX Runtime: %w", path, err)
	}
	return inner, nil
}

// encode computes the vectors of rows of token ids, none of them empty, in as
// many runs as the graph needs for a vector not to depend on its neighbours.
// If late, what stands for a row is one after another what the graph gives for
// its tokens, and none of its padding. Vectors of one run may share memory.
// It ends early, with ctx's error, when ctx does.
func (s *session) encode(ctx context.Context, rows [][]int32) ([][]float32, error) {
	if !s.oneByOne {
		return s.encodeTogether(ctx, rows)
	}
	vectors := make([][]float32, 0, len(rows))
	for i := range rows {
		one, err := s.encodeTogether(ctx, rows[i:i+1])
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, one...)
	}
	return vectors, nil
}

// encodeTogether computes the vectors of rows in one run, the shorter ones
// padded to the longest.
func (s *session) encodeTogether(ctx context.Context, rows [][]int32) ([][]float32, error) {
	longest := 0
	for _, row := range rows {
		longest = max(longest, len(row))
	}
	size := len(rows) * longest
	numbers := make([]int64, 3*size)
	ids, mask, types := numbers[:size], numbers[size:2*size], numbers[2*size:]
	for i, row := range rows {
		at := i * longest
		for k, id := range row {
			ids[at+k], mask[at+k] = int64(id), 1
		}
		for k := len(row); k < longest; k++ {
			ids[at+k] = s.pad
		}
	}
	shape := ort.NewShape(int64(len(rows)), int64(longest))
	inputs := []tensor{{shape, ids}, {shape, mask}}
	if s.types {
		inputs = append(inputs, tensor{shape, types})
	}
	perRow, outShape := s.width, ort.NewShape(int64(len(rows)), int64(s.width))
	if s.late {
		perRow, outShape = longest*s.width, ort.NewShape(int64(len(rows)), int64(longest), int64(s.width))
	}
	flat := make([]float32, len(rows)*perRow)
	if err := run(ctx, s.inner, inputs, outShape, flat); err != nil {
		return nil, fmt.Errorf("running %s on %d texts of up to %d tokens: %w", s.file, len(rows), longest, err)
	}
	vectors := make([][]float32, len(rows))
	for i, row := range rows {
		n := s.width
		if s.late {
			n *= len(row)
		}
		vectors[i] = flat[i*perRow : i*perRow+n : i*perRow+n]
		if !finite(vectors[i]) {
			return nil, fmt.Errorf("%s gave a vector that holds NaN or infinity", s.file)
		}
	}
	return vectors, nil
}

func (s *session) close() error { return s.inner.Destroy() }

// tensor is an int64 input.
type tensor struct {
	shape ort.Shape
	data  []int64
}

// run runs a graph of int64 inputs.
func run(ctx context.Context, inner *ort.DynamicAdvancedSession, inputs []tensor, shape ort.Shape, out []float32) (err error) {
	defer guard(&err)
	values := make([]ort.Value, 0, len(inputs))
	defer func() { destroy(values) }()
	for _, input := range inputs {
		value, err := ort.NewTensor(input.shape, input.data)
		if err != nil {
			return err
		}
		values = append(values, value)
	}
	return runValues(ctx, inner, values, shape, out)
}

// runValues runs a graph and lets it write its one output, of the given
// shape, into out. A graph whose output has another shape is an error. It
// ends early, with ctx's error, when ctx does.
func runValues(ctx context.Context, inner *ort.DynamicAdvancedSession, inputs []ort.Value, shape ort.Shape, out []float32) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	output, err := ort.NewTensor(shape, out)
	if err != nil {
		return err
	}
	defer func() { _ = output.Destroy() }()
	options, err := ort.NewRunOptions()
	if err != nil {
		return err
	}
	defer func() { _ = options.Destroy() }()
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = options.Terminate()
		close(told)
	})
	err = inner.RunWithOptions(inputs, []ort.Value{output}, options)
	if !stop() {
		<-told // options must outlive Terminate
		if err != nil {
			return ctx.Err()
		}
	}
	return err
}

func destroy(values []ort.Value) {
	for _, v := range values {
		_ = v.Destroy()
	}
}

// guard turns a panic of the wrapper into an error: it indexes into slices
// whose lengths a broken graph decides.
func guard(err *error) {
	if failure := recover(); failure != nil {
		*err = errors.Join(*err, fmt.Errorf("the ONNX Runtime wrapper panicked: %v", failure))
	}
}

func finite(vector []float32) bool {
	for _, x := range vector {
		if x-x != 0 || math.IsNaN(float64(x)) {
			return false
		}
	}
	return true
}
