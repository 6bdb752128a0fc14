package sources

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"example.org/conclave/search/internal/run"
)

// Head changes the vector that an expert's encoder gives a question, and says how
// likely the question is of each of its domains (DESIRE-ME, section 3.2). Experts
// with other heads, or none, share the encoder's run.
type Head interface {
	// Apply is the question's vector behind the head and the probability of each of
	// Domains.
	Apply(ctx context.Context, question []float32) (vector, gate []float32, err error)
	Domains() []string
}

// FingerprintRun is the key, in ExpertInfo.Fingerprints, of the fingerprint of an
// encoder's run. An expert without a head has no such entry: the fingerprint of its run
// is that of its question vectors.
const FingerprintRun = "run"

// sameEncoder reports whether one run of an encoder serves the questions of two experts.
func sameEncoder(a, b *Expert) bool {
	if run := a.run(); run != "" && run == b.run() {
		return true
	}
	return reflect.TypeOf(a.Encoder).Comparable() && reflect.TypeOf(b.Encoder).Comparable() && a.Encoder == b.Encoder
}

func (x *Expert) run() string {
	return cmp.Or(x.Info.Fingerprints[FingerprintRun], x.Info.Fingerprints["question"])
}

// ApplyHead returns the head's output for the vector of a run, and the gate. For an expert
// without a head it returns the run's vector.
func (x *Expert) ApplyHead(ctx context.Context, run []float32) (vector, gate []float32, err error) {
	if x.Head == nil {
		return run, nil, nil
	}
	vector, gate, err = x.Head.Apply(ctx, run)
	if err != nil {
		return nil, nil, fmt.Errorf("changing the question's vector: %w", err)
	}
	if domains := x.Head.Domains(); len(gate) != len(domains) {
		return nil, nil, fmt.Errorf("the head gave %d probabilities for %d domains", len(gate), len(domains))
	}
	for _, p := range gate {
		if !(p >= 0 && p <= 1) {
			return nil, nil, fmt.Errorf("the head gave the probability %v", p)
		}
	}
	return vector, slices.Clone(gate), CheckVector(vector, x.Info.Dimension)
}

// Domains returns how likely the question is of each domain of the source's head, by their names; nil if it has no
// head.
func (f *Finding) Domains() map[string]float64 {
	x, ok := f.Source.(*Dense)
	if !ok || len(f.gate) == 0 {
		return nil
	}
	out := map[string]float64{}
	for i, domain := range x.Model.Head.Domains() {
		out[domain] = run.Printed(float64(f.gate[i]))
	}
	return out
}
