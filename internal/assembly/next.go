package assembly

import (
	"slices"

	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"example.org/conclave/shipped"
)

// Improvement is a change that would make a collection's answers better.
type Improvement struct {
	Why     string
	Experts []string // one of which is to be added; none: it is to be calibrated
}

// Improvements returns what would improve the collection's answers next, the most helpful first: experts it lacks, or
// questions to calibrate with. Empty if nothing is known to.
func (a *Assembly) Improvements() []Improvement {
	experts := a.Engine.Experts()
	late := slices.ContainsFunc(experts, func(x learned.ExpertInfo) bool { return x.Kind == reply.KindLate })
	has := func(name string) bool {
		return slices.ContainsFunc(experts, func(x learned.ExpertInfo) bool { return x.Name == name })
	}
	base := has(shipped.Base)
	switch {
	case len(experts) == 0:
		return []Improvement{{"meaning beside words", []string{shipped.Base}}}
	case base && !late:
		return []Improvement{{"late interaction", []string{shipped.Late}}}
	case has(shipped.Multilingual) && (!late || has(shipped.Late) && !has(shipped.MultilingualLate)):
		return []Improvement{{"late interaction", []string{shipped.MultilingualLate}}}
	}
	var out []Improvement
	if base && a.LineUp().Reference == "" {
		out = append(out, Improvement{"a specialist, where one of these is near your domain", shipped.Specialists()})
	}
	if record, err := a.readRecord(); record == nil && err == nil {
		out = append(out, Improvement{Why: "a hundred or more of your questions, with their passages"})
	}
	return out
}
