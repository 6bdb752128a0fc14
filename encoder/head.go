package encoder

import (
	"context"
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

// OpenHead loads the head of a DESIRE-ME expert's bundle and tests it. It runs on the processor, or with CUDA on
// whichever is faster. It fails if the bundle has no head. The caller closes it.
func (r *Runtime) OpenHead(b *models.Bundle, o Running) (*Head, error) {
	m := &b.Manifest
	if m.Head == nil {
		return nil, fmt.Errorf("the bundle of %s is of kind %s and has no head", m.Name, m.Kind)
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := r.checkOpen(); err != nil {
		return nil, err
	}
	h := &Head{runtime: r, sum: b.Fingerprint(models.Question), domains: m.Head.Domains}
	if err := h.open(b, o); err != nil {
		r.encoderClosed()
		return nil, fmt.Errorf("opening the expert %s: %w", m.Name, err)
	}
	return h, nil
}

// open loads the graph on the wanted provider, or with Auto on the one that works, and tests it.
func (h *Head) open(b *models.Bundle, o Running) error {
	m := &b.Manifest
	question := make([]float32, m.Dimension())
	question[0] = 1
	outputs := []string{models.HeadVector, models.HeadGate}
	_, _, err := o.openWithFallback(m.Precision, m.Name, func(t target) (err error) {
		try := func(s *smallSession) error {
			vector, _, err := (&Head{smallSession: s, domains: h.domains}).Apply(context.Background(), question)
			if err == nil && m.Head.Normalise {
				err = tryLength(s.file, vector)
			}
			return err
		}
		h.smallSession, err = openSmall(b.Path(m.Head.File), models.HeadInput, outputs, m.Dimension(), t, try)
		return err
	})
	return err
}

// Provider returns where the head runs: CPU or CUDA.
func (h *Head) Provider() string { return h.provider }

// Domains returns the names of the domains, in the order of the gate's probabilities.
func (h *Head) Domains() []string { return h.domains }

// Fingerprint returns the fingerprint of the head's output for input vectors whose
// fingerprint is run.
func (h *Head) Fingerprint(run string) string { return models.HeadFingerprint(run, h.sum) }

// Apply returns the head's vector for a question's vector, of the same length, and the gate: the probability of each of
// Domains. It fails if the vector has another length, or with batcher.ErrClosed after Close.
func (h *Head) Apply(ctx context.Context, question []float32) (vector, gate []float32, err error) {
	outputs := []output{newOutput(1, h.dimension), newOutput(1, len(h.domains))}
	return outputs[0].data, outputs[1].data, h.apply(ctx, question, outputs...)
}

// Close frees the graph. A second call returns nil.
func (h *Head) Close() (err error) {
	h.closeOnce.Do(func() {
		err = h.close()
		h.runtime.encoderClosed()
	})
	return err
}
