package encoder

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"example.org/conclave/models"
)

// Head changes a question's vector and says how likely each of its domains is
// (DESIRE-ME, section 3.2; models.Head). It is safe for concurrent use.
type Head struct {
	*smallSession
	runtime   *Runtime
	sum       string // of its bundle; see Fingerprint
	domains   []string
	closeOnce sync.Once
}

// OpenHead loads the head of a DESIRE-ME expert's bundle and tests it. It runs on the processor (see smallSession).
// It fails if the bundle has no head, its graph does not work or the runtime is closed. The caller closes it,
// before the runtime.
func (r *Runtime) OpenHead(b *models.Bundle) (*Head, error) {
	m := &b.Manifest
	if m.Head == nil {
		return nil, fmt.Errorf("the bundle of %s is of kind %s and has no head", m.Name, m.Kind)
	}
	if err := r.checkOpen(); err != nil {
		return nil, err
	}
	h := &Head{runtime: r, sum: b.Fingerprint(models.Question), domains: m.Head.Domains}
	if err := h.open(b); err != nil {
		r.encoderClosed()
		return nil, fmt.Errorf("opening the expert %s: %w", m.Name, err)
	}
	return h, nil
}

// open loads the graph and tests it on a vector. If the test fails, it frees the graph.
func (h *Head) open(b *models.Bundle) (err error) {
	m := &b.Manifest
	outputs := []string{models.HeadVector, models.HeadGate}
	h.smallSession, err = openSmall(b.Path(m.Head.File), models.HeadInput, outputs, m.Dimension())
	if err != nil {
		return err
	}
	question := make([]float32, m.Dimension())
	question[0] = 1
	vector, _, err := h.Apply(context.Background(), question)
	if err == nil && m.Head.Normalise {
		err = tryLength(h.file, vector)
	}
	if err != nil {
		return errors.Join(err, h.smallSession.close())
	}
	return nil
}

// Provider returns CPU, where every head runs.
func (h *Head) Provider() string { return CPU }

// Domains returns the names of the domains, in the order of the gate's probabilities.
func (h *Head) Domains() []string { return h.domains }

// Fingerprint returns the fingerprint of the head's output for input vectors whose
// fingerprint is run.
func (h *Head) Fingerprint(run string) string { return models.HeadFingerprint(run, h.sum) }

// Apply returns the head's vector for a question's vector, of the same length, and the gate: the probability of
// each of Domains, in their order. It fails if the vector has another length, if ctx ends, or with
// batcher.ErrClosed after Close; the results are then to be ignored.
func (h *Head) Apply(ctx context.Context, question []float32) (vector, gate []float32, err error) {
	outputs := []output{newOutput(1, h.dimension), newOutput(1, len(h.domains))}
	return outputs[0].data, outputs[1].data, h.apply(ctx, question, outputs...)
}

// Close frees the graph. A second call returns nil. It fails if freeing does.
func (h *Head) Close() (err error) {
	h.closeOnce.Do(func() {
		err = h.close()
		h.runtime.encoderClosed()
	})
	return err
}
