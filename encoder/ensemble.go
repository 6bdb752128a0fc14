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
// section 3). It is safe for concurrent use and ends with its Encoder.
type Ensemble struct {
	*smallSession
	members int
}

// openEnsemble opens the ensemble of a bundle, which must have one, and runs it once. It fails if the graph cannot be
// loaded or run.
func openEnsemble(b *models.Bundle) (*Ensemble, error) {
	m := &b.Manifest
	x := m.Vectors.Ensemble
	graph, err := openSmall(b.Path(x.File), models.EnsembleInput, []string{models.EnsembleOutput}, m.Dimension())
	if err != nil {
		return nil, err
	}
	e := &Ensemble{graph, x.Members}
	if _, err := e.Members(context.Background(), make([]float32, m.Dimension())); err != nil {
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
