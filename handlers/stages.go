package handlers

import (
	"context"
	"slices"

	"example.org/conclave/search"
)

// withoutStages returns the answer without what its sources' stages took, unless the caller
// may administer the server: a question that was asked before is encoded in no time, so that
// the times tell what others ask.
func (a *API) withoutStages(ctx context.Context, r search.Response) search.Response {
	if a.require(ctx, ScopeAdmin) == nil {
		return r
	}
	r.Sources = slices.Clone(r.Sources)
	for i := range r.Sources {
		r.Sources[i].Took = search.Took{}
	}
	return r
}
