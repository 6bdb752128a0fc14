package experts

import (
	"slices"

	"example.org/conclave/search/reply"
	"example.org/conclave/store"
)

// shareVectors lets experts find passages by vectors that others have: of what the collection has
// vectors of, as it says; of what is new to it, where the passage encoders are the same, as
// those of an expert that trained the question's side alone are its base's. Experts of
// late interaction and of parts of passages have their own.
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

// WithVectors returns the experts whose vectors of passages are their own.
func WithVectors(all []*Expert) []*Expert {
	return slices.DeleteFunc(slices.Clone(all), func(e *Expert) bool { return e.Owner() != "" })
}
