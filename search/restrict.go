package search

import (
	"context"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
)

type restrictionKey struct{}

// Restricted returns a context whose requests see only the passages that meet a condition, whatever
// they ask: searches find no others, and others cannot be read, listed or shown beside a result. What restricted the
// context before goes on doing so.
func Restricted(ctx context.Context, to *conditions.Condition) context.Context {
	if to.Empty() {
		return ctx
	}
	if before := restrictionOf(ctx); before != nil {
		to = &conditions.Condition{And: []conditions.Condition{*before, *to}}
	}
	return context.WithValue(ctx, restrictionKey{}, to)
}

// IsRestricted reports whether a context's requests see some passages alone.
func IsRestricted(ctx context.Context) bool { return restrictionOf(ctx) != nil }

func restrictionOf(ctx context.Context) *conditions.Condition {
	to, _ := ctx.Value(restrictionKey{}).(*conditions.Condition)
	return to
}

// restriction returns what a context's requests may see, by the types of fields: all, where nothing
// restricts them, and nothing, where the restriction does not fit the types.
func (p *pinned) restriction(ctx context.Context) conditions.Node {
	to := restrictionOf(ctx)
	if to == nil {
		return conditions.Node{}
	}
	node, wrong := to.Compile(p.types)
	if wrong != nil {
		return conditions.Node{Op: conditions.Or}
	}
	return node.Unsaid()
}

// visible reports whether a context's requests may see a passage, by its tags and metadata.
func (p *pinned) visible(ctx context.Context, passage *corpus.Passage) bool {
	n := p.restriction(ctx)
	return n.Matches(passage.Tags, passage.Metadata)
}

// Visible reports whether a context's requests may see a passage.
func (e *Engine) Visible(ctx context.Context, passage *corpus.Passage) bool {
	if restrictionOf(ctx) == nil {
		return true
	}
	view := e.pin()
	defer view.unpin()
	return view.visible(ctx, passage)
}
