// Package identity keeps in a context for whom work is done. A context has one Identity; who it is decides which
// passages requests see, whose results a cache may return, and whose turn to compute it is.
package identity

import (
	"context"

	"example.org/conclave/internal/conditions"
)

// Identity is the caller that work is done for. The zero value is a caller that is not told apart from others and sees
// every passage.
type Identity struct {
	Name  string // of the caller, such as a key's name; caches keep the results of different names apart
	Group string // of the caller, such as a key or a collection, for which its processor time is counted
	// Restriction is what a passage has to meet so that the caller may see it; nil: the caller sees all.
	Restriction *conditions.Condition
}

type identityKey struct{}

// Of returns the identity that a context carries; the zero value if it carries none.
func Of(ctx context.Context) Identity {
	id, _ := ctx.Value(identityKey{}).(Identity)
	return id
}

// WithName returns a context whose identity has this name, and otherwise is that of ctx: a restriction still holds.
func WithName(ctx context.Context, name string) context.Context {
	id := Of(ctx)
	id.Name = name
	return context.WithValue(ctx, identityKey{}, id)
}

// WithGroup returns a context whose turns to compute (overload.Control.Turn) are counted for a group. All contexts
// without one share the group "".
func WithGroup(ctx context.Context, group string) context.Context {
	id := Of(ctx)
	id.Group = group
	return context.WithValue(ctx, identityKey{}, id)
}

// Restrict returns a context whose requests see only the passages that meet a condition, whatever they ask:
// searches find no others, and others cannot be read, listed or shown beside a result. A restriction that ctx has
// already holds as well. An empty condition changes nothing. The condition must not be changed afterwards.
func Restrict(ctx context.Context, to *conditions.Condition) context.Context {
	if to.Empty() {
		return ctx
	}
	id := Of(ctx)
	if before := id.Restriction; before != nil {
		to = &conditions.Condition{And: []conditions.Condition{*before, *to}}
	}
	id.Restriction = to
	return context.WithValue(ctx, identityKey{}, id)
}

// IsRestricted reports whether a context's requests see only some passages.
func IsRestricted(ctx context.Context) bool { return Of(ctx).Restriction != nil }
