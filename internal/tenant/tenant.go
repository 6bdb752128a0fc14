// Package tenant carries the name of a request's caller through contexts, for the parts of the
// program that keep something of one request for the next one, or let requests wait for each other.
package tenant

import "context"

type nameKey struct{}

// With returns a context whose work is done for the caller of a name. "" is the caller of a server
// that does not tell callers apart.
func With(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, nameKey{}, name)
}

// Of returns the name of the caller for whom a context's work is done; "": it has none.
func Of(ctx context.Context) string {
	name, _ := ctx.Value(nameKey{}).(string)
	return name
}
