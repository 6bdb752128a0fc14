package search

import (
	"context"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/identity"
)

// Visible reports whether a context's requests may see a passage.
func (e *Engine) Visible(ctx context.Context, passage *corpus.Passage) bool {
	if !identity.IsRestricted(ctx) {
		return true
	}
	view := e.pin()
	defer view.Release()
	return view.Visible(ctx, passage)
}
