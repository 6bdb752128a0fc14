package encoder

import (
	"context"
	"errors"
	"fmt"
	"sync"

	ort "github.com/yalue/onnxruntime_go"

	"conclave/encoder/batcher"
	"conclave/models"
)

// Ensemble maps a question's vector to one vector for each of its members (MUF,
// section 3). It is safe for concurrent use and ends with its Encoder. It is a few
// small matrices, so it runs at once, on the caller's thread and beside whatever
// else runs, instead of going through the queue.
type Ensemble struct {
	file      string
	inner     *ort.DynamicAdvancedSession
	members   int
	dimension int

	mu     sync.RWMutex // held for writing to close
	closed bool
}

func openEnsemble(b *models.Bundle) (*Ensemble, error) {
	m := &b.Manifest
	path := b.Path(m.Ensemble.File)
	inner, err := load(path, []string{models.EnsembleInput}, []string{models.EnsembleOutput}, target{provider: CPU, threads: 1})
	if err != nil {
		return nil, err
	}
	e := &Ensemble{file: path, inner: inner, members: m.Ensemble.Members, dimension: m.Dimension}
	if _, err := e.Members(context.Background(), make([]float32, m.Dimension)); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// EnsembleMembers is how many members there are.
func (e *Ensemble) EnsembleMembers() int { return e.members }

// Members is the vectors that the members make of a question's vector, one after
// the other: EnsembleMembers × Dimension numbers.
func (e *Ensemble) Members(ctx context.Context, vector []float32) ([]float32, error) {
	if len(vector) != e.dimension {
		return nil, fmt.Errorf("%s takes a vector of %d numbers, not %d", e.file, e.dimension, len(vector))
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return nil, batcher.ErrClosed
	}
	members := newOutput(1, e.members, e.dimension)
	if err := run(ctx, e.inner, ort.NewShape(1, int64(e.dimension)), [][]float32{vector}, []output{members}); err != nil {
		return nil, fmt.Errorf("running %s: %w", e.file, err)
	}
	if !finite(members.data) {
		return nil, errors.New(e.file + " gave a member that holds NaN or infinity")
	}
	return members.data, nil
}

func (e *Ensemble) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	return e.inner.Destroy()
}
