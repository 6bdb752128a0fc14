package sources

import (
	"example.org/conclave/search/internal/run"
)

// Domains returns the probability that the question is of each domain that the expert's head knows, by the domain's
// name. It returns nil if the source has no head or did not answer.
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
