package encoder

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	ort "github.com/yalue/onnxruntime_go"

	"example.org/conclave/models"
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
	oneByOne bool // a row's vector would depend on the other rows of its run
	late     bool // the graph gives rows for tokens in place of one vector
	width    int  // of what it gives for a text or, if late, for a token
	pooled   int  // of the text's vector that a late graph also gives; 0: none
	pad      int64
}

// openTower loads the graph of one side of a bundle and runs it once. It fails if the graph contradicts the
// manifest, and then leaves nothing loaded. The caller closes the session.
func openTower(b *models.Bundle, g models.Graph, tokenizer *questionTokens, t target) (*session, error) {
	m := &b.Manifest
	ids, err := tokenizer.Encode("a", m.Vectors.MaxTokens.Question)
	if err != nil {
		return nil, err
	}
	inputs := []string{g.InputIDs, g.AttentionMask}
	if g.TokenTypeIDs != "" {
		inputs = append(inputs, g.TokenTypeIDs)
	}
	outputs := []string{g.Embedding}
	if g.Pooled != "" {
		outputs = append(outputs, g.Pooled)
	}
	s := &session{
		file: b.Path(g.File), types: g.TokenTypeIDs != "", oneByOne: g.OneByOne,
		late: m.Kind == models.KindLate, width: m.Vectors.Dimension,
		pooled: g.PooledDimension, pad: int64(tokenizer.Pad()),
	}
	if s.late {
		s.width++
	}
	s.inner, err = loadSession(s.file, inputs, outputs, t)
	if err != nil {
		return nil, err
	}
	vectors, _, err := s.encodeRows(context.Background(), [][]int32{ids})
	switch {
	case err != nil:
	case s.late:
		err = s.tryTokens(vectors[0])
	case m.Vectors.Normalise:
		err = tryLength(s.file, vectors[0])
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// tryLength returns an error if a vector that the graph in file gave is not of unit length, within 0.001.
func tryLength(file string, vector []float32) error {
	if n := vectorLength(vector); math.Abs(n-1) > 1e-3 {
		return fmt.Errorf("%s gave a vector of length %g, but the manifest says normalise: true", file, n)
	}
	return nil
}

// vectorLength returns the Euclidean length of a vector.
func vectorLength(vector []float32) float64 {
	sum := 0.0
	for _, x := range vector {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// loadingCUDA is held while CUDA's provider may replace the signal handlers.
var loadingCUDA sync.Mutex

// loadSession loads the graph in a file, with these names of inputs and outputs, to run on t. The caller destroys
// it. The process keeps its signal handlers. A panic of the wrapper becomes the error.
func loadSession(path string, inputs, outputs []string, t target) (_ *ort.DynamicAdvancedSession, err error) {
	if t.provider == CUDA {
		loadingCUDA.Lock()
		defer loadingCUDA.Unlock()
		defer keepSignalHandlers()()
	}
	defer recoverPanic(&err)
	options, err := t.sessionOptions()
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

// encodeRows returns the vectors of rows of token ids, none of which may be empty, in as many runs as the graph needs
// so that no vector depends on the other rows. For a late graph a row's result is the output for each of its tokens,
// one after another. pooled has the texts' vectors that a late graph also gives; nil if it gives none. Vectors of one
// run may share memory. It fails with ctx's error if that ends first.
func (s *session) encodeRows(ctx context.Context, rows [][]int32) (vectors, pooled [][]float32, err error) {
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

// encodeTogether does the work of encodeRows in one run, with the shorter rows padded to the longest. It fails if a
// number is not finite. Vectors share the memory of the run.
func (s *session) encodeTogether(ctx context.Context, rows [][]int32) (vectors, pooled [][]float32, err error) {
	inputs, longest := padRows(rows, s.pad)
	if !s.types {
		inputs = inputs[:2]
	}
	outputs := []output{newOutput(len(rows), s.width)}
	if s.late {
		outputs[0] = newOutput(len(rows), longest, s.width)
	}
	if s.pooled > 0 {
		outputs = append(outputs, newOutput(len(rows), s.pooled))
	}
	if err := runGraph(ctx, s.inner, ort.NewShape(int64(len(rows)), int64(longest)), inputs, outputs); err != nil {
		return nil, nil, fmt.Errorf("running %s on %d texts of up to %d tokens: %w", s.file, len(rows), longest, err)
	}
	vectors = make([][]float32, len(rows))
	for i, row := range rows {
		n := s.width
		if s.late {
			n *= len(row)
		}
		vectors[i] = outputs[0].rowOutput(i)[:n:n]
		if s.pooled > 0 {
			pooled = append(pooled, outputs[1].rowOutput(i))
		}
		if !isFinite(vectors[i]) || pooled != nil && !isFinite(pooled[i]) {
			return nil, nil, fmt.Errorf("%s gave a vector that holds NaN or infinity", s.file)
		}
	}
	return vectors, pooled, nil
}

// padRows returns the three inputs of a graph for rows of token ids: the ids, with pad after the shorter rows, the
// attention mask, and token types of 0. Each is [rows, longest]; longest is the length of the longest row.
func padRows(rows [][]int32, pad int64) (inputs [][]int64, longest int) {
	for _, row := range rows {
		longest = max(longest, len(row))
	}
	size := len(rows) * longest
	numbers := make([]int64, 3*size)
	ids, mask := numbers[:size], numbers[size:2*size]
	for i, row := range rows {
		at := i * longest
		for k, id := range row {
			ids[at+k] = int64(id)
			mask[at+k] = 1
		}
		for k := len(row); k < longest; k++ {
			ids[at+k] = pad
		}
	}
	return [][]int64{ids, mask, numbers[2*size:]}, longest
}

// close frees the graph. It fails if freeing does.
func (s *session) close() error { return s.inner.Destroy() }

// isFinite reports whether all numbers of a vector are finite.
func isFinite(vector []float32) bool {
	for _, x := range vector {
		if x-x != 0 { // of NaN and of infinity it is NaN
			return false
		}
	}
	return true
}
