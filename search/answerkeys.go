package search

import (
	"context"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/sources"
)

// keys returns those of the question, if words answered.
func (a *answer) keys(ctx context.Context) fusion.Keys {
	var out fusion.Keys
	for i := range a.findings {
		f := &a.findings[i]
		if f.Status != sources.StatusOK || f.Keys == nil {
			continue
		}
		for _, k := range f.Keys.List {
			out.List = append(out.List, k.Key)
		}
		in := a.found.View.Narrowed
		out.Held = func(o rank.Ordinal) uint64 {
			set, err := f.Keys.Held(ctx, a.found.Inquiry.Question, in.Words(), in.Phrases(), o)
			if err != nil {
				a.keyless = err // a confidence is no reason to fail
				return 0
			}
			return set
		}
	}
	return out
}
