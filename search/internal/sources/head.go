package sources

import (
	"example.org/conclave/search/internal/run"
)

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
