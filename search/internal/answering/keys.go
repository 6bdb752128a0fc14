package answering

import (
	"context"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/reply"
)

// Keys returns the keys of the question and a function that looks up which of them a passage has. It returns the zero
// value if BM25 over words did not answer. If a lookup fails, the function returns 0 and sets r.Keyless. The function
// may read from the store, under ctx.
func (r *Ranking) Keys(ctx context.Context) fusion.Keys {
	var out fusion.Keys
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Status != reply.StatusOK || f.Keys == nil {
			continue
		}
		for _, k := range f.Keys.List {
			out.List = append(out.List, k.Key)
		}
		in := r.Found.View.Narrowed
		out.SetOf = func(o rank.Ordinal) uint64 {
			set, err := f.Keys.SetOf(ctx, r.Found.Inquiry.Question, in.Words(), in.Phrases(), o)
			if err != nil {
				r.Keyless = err // a confidence is no reason to fail
				return 0
			}
			return set
		}
	}
	return out
}
