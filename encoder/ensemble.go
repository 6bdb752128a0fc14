package encoder

import (
	"context"
	"errors"
	"fmt"
	"sync"

	ort "github.com/yalue/onnxruntime_go"

	"example.org/conclave/encoder/batcher"
	"example.org/conclave/models"
)

// smallSession is a graph of a few matrices that is applied to one vector. It runs at once, on the
// processor and on the caller's thread, instead of waiting in the queue. This is so even where other
// graphs run on a GPU: copying one vector there and back takes longer, and every start has to give
// the same digits. It is safe for concurrent use.
type smallSession struct {
	file      string
	inner     *ort.DynamicAdvancedSession
	dimension int

	mu     sync.RWMutex // held for writing to close
	closed bool
}

// openSmall loads a graph that takes one vector of the given dimension. input and outputs are the names in the graph.
// The caller closes the session. It fails if the file cannot be read or has no such input and outputs.
func openSmall(file, input string, outputs []string, dimension int) (*smallSession, error) {
	inner, err := loadSession(file, []string{input}, outputs, target{provider: CPU, threads: 1})
	if err != nil {
		return nil, err
	}
	return &smallSession{file: file, inner: inner, dimension: dimension}, nil
}

// apply runs the graph on a vector and writes to outputs. It fails if the vector has another dimension, the graph
// gives numbers that are not finite, or with batcher.ErrClosed after close. The outputs must not be used after an
// error.
func (s *smallSession) apply(ctx context.Context, vector []float32, outputs ...output) error {
	if len(vector) != s.dimension {
		return fmt.Errorf("%s takes a vector of %d numbers, not %d", s.file, s.dimension, len(vector))
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return batcher.ErrClosed
	}
	if err := runGraph(ctx, s.inner, ort.NewShape(1, int64(s.dimension)), [][]float32{vector}, outputs); err != nil {
		return fmt.Errorf("running %s: %w", s.file, err)
	}
	for _, o := range outputs {
		if !isFinite(o.data) {
			return errors.New(s.file + " gave a vector that holds NaN or infinity")
		}
	}
	return nil
}

// close waits for runs to end and frees the graph. It fails if freeing does.
func (s *smallSession) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.inner.Destroy()
}

// Ensemble maps a question's vector to one vector for each of its members (MUF,
// section 3). It is safe for concurrent use. That of an Encoder ends with it.
type Ensemble struct {
	*smallSession
	members int
	runtime *Runtime // that counts it as open; nil: its Encoder is counted
}

// OpenEnsemble loads an ensemble that belongs to no bundle, from a file of ONNX, for questions' vectors of dimension
// numbers. The caller closes it, before the runtime. It fails if the file is no ensemble for such vectors
// (models.EnsembleMembers), cannot be loaded or run, or the runtime is closed.
func (r *Runtime) OpenEnsemble(file string, dimension int) (*Ensemble, error) {
	members, err := models.EnsembleMembers(file, dimension)
	if err != nil {
		return nil, err
	}
	if err := r.checkOpen(); err != nil {
		return nil, err
	}
	e, err := openEnsemble(file, members, dimension)
	if err != nil {
		r.encoderClosed()
		return nil, err
	}
	e.runtime = r
	return e, nil
}

// Close frees an ensemble of OpenEnsemble. Calls of Members that run end before; later ones fail. Call it once.
func (e *Ensemble) Close() error {
	err := e.close()
	e.runtime.encoderClosed()
	return err
}

// openEnsemble opens the ensemble in a file, of so many members on vectors of dimension numbers, and runs it once. It
// fails if the graph cannot be loaded or run.
func openEnsemble(file string, members, dimension int) (*Ensemble, error) {
	graph, err := openSmall(file, models.EnsembleInput, []string{models.EnsembleOutput}, dimension)
	if err != nil {
		return nil, err
	}
	e := &Ensemble{smallSession: graph, members: members}
	if _, err := e.Members(context.Background(), make([]float32, dimension)); err != nil {
		return nil, errors.Join(err, graph.close())
	}
	return e, nil
}

// EnsembleMembers returns the number of members.
func (e *Ensemble) EnsembleMembers() int { return e.members }

// Members returns the members' vectors for a question's vector, one after the other: EnsembleMembers × Dimension
// numbers. It fails if the vector has another length, the graph fails or the encoder is closed; the numbers are of
// no use then.
func (e *Ensemble) Members(ctx context.Context, vector []float32) ([]float32, error) {
	members := newOutput(1, e.members, e.dimension)
	return members.data, e.apply(ctx, vector, members)
}
