package experts

import (
	"slices"

	"example.org/conclave/search/reply"
	"example.org/conclave/store"
)

// shareVectors sets, for each opened expert (Expert.shares), whose vectors it searches: of a stored expert as the
// collection says, and of a new one those of an expert with the same passage encoder, stored or opened before it,
// if there is one. Experts with heads, late interaction or granularities have their own.
func (x *Set) shareVectors(opened []*Expert) {
	for i, e := range opened {
		if e.head != nil || e.Late() || e.Granularity != nil {
			continue
		}
		if slices.ContainsFunc(x.stored, func(s store.Expert) bool { return s.Name == e.name }) {
			e.shares = x.owners[e.name]
			continue
		}
		for _, s := range x.stored {
			if s.Owner == "" && !s.Parts && s.Index.Kind != reply.KindLate && s.Fingerprint == e.Fingerprint() {
				e.shares = s.Name
				break
			}
		}
		for _, o := range opened[:i] {
			if e.shares == "" && o.Owner() == "" && o.Granularity == nil && !o.Late() &&
				o.Fingerprint() == e.Fingerprint() {
				e.shares = o.name
			}
		}
	}
}

// WithVectors returns the experts that have vectors of passages of their own, in their order, in a new slice.
func WithVectors(all []*Expert) []*Expert {
	return slices.DeleteFunc(slices.Clone(all), func(e *Expert) bool { return e.Owner() != "" })
}
