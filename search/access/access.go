// Package access keeps in a context which passages its requests may see.
package access

import (
	"context"

	"example.org/conclave/internal/conditions"
)

type restrictionKey struct{}

// Restrict returns a context whose requests see only the passages that meet a condition, whatever
// they ask: searches find no others, and others cannot be read, listed or shown beside a result. What restricted the
// context before goes on doing so.
func Restrict(ctx context.Context, to *conditions.Condition) context.Context {
	if to.Empty() {
		return ctx
	}
	if before := Restriction(ctx); before != nil {
		to = &conditions.Condition{And: []conditions.Condition{*before, *to}}
	}
	return context.WithValue(ctx, restrictionKey{}, to)
}

// IsRestricted reports whether a context's requests see some passages alone.
func IsRestricted(ctx context.Context) bool { return Restriction(ctx) != nil }

func Restriction(ctx context.Context) *conditions.Condition {
	to, _ := ctx.Value(restrictionKey{}).(*conditions.Condition)
	return to
}
