// Package tenant carries the name of a request's caller in its context. Caches use it to keep the results of one caller
// from another, and queues to let callers take turns.
package tenant

import "context"

type nameKey struct{}

// With returns a context that carries the name of the caller that the work is done for, such as a key's name. "" means
// that callers are not told apart.
func With(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, nameKey{}, name)
}

// Of returns the caller's name that With put into a context; "" if there is none.
func Of(ctx context.Context) string {
	name, _ := ctx.Value(nameKey{}).(string)
	return name
}
