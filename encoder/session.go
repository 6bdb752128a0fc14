package encoder

import (
	"context"
	"fmt"
	"math"

	ort "github.com/yalue/onnxruntime_go"

	"conclave/models"
)

// runner is a graph as ONNX Runtime holds it.
type runner interface {
	RunWithOptions(inputs, outputs []ort.Value, options *ort.RunOptions) error
	Destroy() error
}

// session is one ONNX graph loaded into ONNX Runtime. It is safe for
// concurrent use.
type session struct {
	file     string
	inner    runner
	types    bool // the graph takes token types
	oneByOne bool // a row's vector would depend on the rows beside it
	late     bool // the graph gives rows for tokens in place of one vector
	width    int  // of what it gives for a text or, if late, for a token
	pooled   int  // of the vector that a late graph gives beside them; 0: none
	pad      int64
}

// openSession loads an encoder's graph. Its vectors have dimension numbers,
// and if late, one for each token, one number more.
func openSession(path string, g models.Graph, dimension int, late bool, pad int32, t target) (*session, error) {
	inputs := []string{g.InputIDs, g.AttentionMask}
	if g.TokenTypeIDs != "" {
		inputs = append(inputs, g.TokenTypeIDs)
	}
	outputs := []string{g.Embedding}
	if g.Pooled != "" {
		outputs = append(outputs, g.Pooled)
	}
	inner, err := load(path, inputs, outputs, t)
	if err != nil {
		return nil, err
	}
	s := &session{
		file: path, inner: inner, types: g.TokenTypeIDs != "", oneByOne: g.OneByOne, late: late, width: dimension,
		pooled: g.PooledDimension, pad: int64(pad),
	}
	if late {
		s.width++
	}
	return s, nil
}

func load(path string, inputs, outputs []string, t target) (_ *ort.DynamicAdvancedSession, err error) {
	defer keepSignalHandlers()()
	defer guard(&err)
	options, err := t.options()
	if err != nil {
		return nil, err
	}
	defer func() { _ = options.Destroy() }()
	inner, err := ort.NewDynamicAdvancedSession(path, inputs, outputs, options)
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
	vectors, _, err := s.encodeBoth(ctx, rows)
	return vectors, err
}

// encodeBoth is encode with the texts' vectors that a late graph gives beside
// those of the tokens; nil where it gives none.
func (s *session) encodeBoth(ctx context.Context, rows [][]int32) (vectors, pooled [][]float32, err error) {
	if !s.oneByOne {
		return s.encodeTogether(ctx, rows)
	}
	for i := range rows {
		one, beside, err := s.encodeTogether(ctx, rows[i:i+1])
		if err != nil {
			return nil, nil, err
		}
		vectors, pooled = append(vectors, one...), append(pooled, beside...)
	}
	return vectors, pooled, nil
}

// encodeTogether is encodeBoth in one run, the shorter rows padded to the
// longest.
func (s *session) encodeTogether(ctx context.Context, rows [][]int32) (vectors, pooled [][]float32, err error) {
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
	outputs := []output{newOutput(len(rows), s.width)}
	if s.late {
		outputs[0] = newOutput(len(rows), longest, s.width)
	}
	if s.pooled > 0 {
		outputs = append(outputs, newOutput(len(rows), s.pooled))
	}
	if err := run(ctx, s.inner, inputs, outputs); err != nil {
		return nil, nil, fmt.Errorf("running %s on %d texts of up to %d tokens: %w", s.file, len(rows), longest, err)
	}
	vectors = make([][]float32, len(rows))
	for i, row := range rows {
		n := s.width
		if s.late {
			n *= len(row)
		}
		vectors[i] = outputs[0].row(i)[:n:n]
		if s.pooled > 0 {
			pooled = append(pooled, outputs[1].row(i))
		}
		if !finite(vectors[i]) || pooled != nil && !finite(pooled[i]) {
			return nil, nil, fmt.Errorf("%s gave a vector that holds NaN or infinity", s.file)
		}
	}
	return vectors, pooled, nil
}

func (s *session) close() error { return s.inner.Destroy() }

func finite(vector []float32) bool {
	for _, x := range vector {
		if x-x != 0 || math.IsNaN(float64(x)) {
			return false
		}
	}
	return true
}
