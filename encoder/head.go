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

// Head changes a question's vector and says how likely each of its domains is
// (DESIRE-ME, section 3.2; models.Head). It is safe for concurrent use. Like an
// Ensemble it is a few small matrices, and runs at once on the caller's thread.
type Head struct {
	runtime   *Runtime
	file      string
	sum       string // of its bundle; see Fingerprint
	inner     *ort.DynamicAdvancedSession
	domains   []string
	dimension int
	unit      bool // it gives vectors of unit length

	mu     sync.RWMutex // held for writing to close
	closed bool
}

// OpenHead loads the head of a DESIRE-ME expert's bundle and tries it. Close ends it.
func (r *Runtime) OpenHead(b *models.Bundle) (*Head, error) {
	m := &b.Manifest
	if m.Head == nil {
		return nil, fmt.Errorf("the bundle of %s is of kind %s and has no head", m.Name, m.Kind)
	}
	if err := r.opened(); err != nil {
		return nil, err
	}
	h := &Head{runtime: r, file: b.Path(m.Head.File), sum: b.Fingerprint(models.Question), domains: m.Head.Domains, dimension: m.Dimension, unit: m.Normalise}
	err := h.open()
	if err != nil {
		r.encoderClosed()
		return nil, fmt.Errorf("opening the expert %s: %w", m.Name, err)
	}
	return h, nil
}

func (h *Head) open() (err error) {
	h.inner, err = load(h.file, []string{models.HeadInput}, []string{models.HeadVector, models.HeadGate}, target{provider: CPU, threads: 1})
	if err != nil {
		return err
	}
	question := make([]float32, h.dimension)
	question[0] = 1
	vector, _, err := h.Apply(context.Background(), question)
	if err == nil && h.unit {
		err = (&session{file: h.file}).tryLength(vector)
	}
	if err != nil {
		return errors.Join(err, h.inner.Destroy())
	}
	return nil
}

// Domains are the names of the gate's numbers.
func (h *Head) Domains() []string { return h.domains }

// Fingerprint is the fingerprint of the head's output for input vectors whose
// fingerprint is run.
func (h *Head) Fingerprint(run string) string { return models.HeadFingerprint(run, h.sum) }

// Apply returns the head's output for a question's vector, of the same length, and the
// gate: the probability of each of Domains.
func (h *Head) Apply(ctx context.Context, question []float32) (vector, gate []float32, err error) {
	if len(question) != h.dimension {
		return nil, nil, fmt.Errorf("%s takes a vector of %d numbers, not %d", h.file, h.dimension, len(question))
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.closed {
		return nil, nil, batcher.ErrClosed
	}
	outputs := []output{newOutput(1, h.dimension), newOutput(1, len(h.domains))}
	if err := run(ctx, h.inner, ort.NewShape(1, int64(h.dimension)), [][]float32{question}, outputs); err != nil {
		return nil, nil, fmt.Errorf("running %s: %w", h.file, err)
	}
	vector, gate = outputs[0].data, outputs[1].data
	if !finite(vector) || !finite(gate) {
		return nil, nil, errors.New(h.file + " gave a vector that holds NaN or infinity")
	}
	return vector, gate, nil
}

// Close frees the graph.
func (h *Head) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil
	}
	h.closed = true
	h.runtime.encoderClosed()
	return h.inner.Destroy()
}
