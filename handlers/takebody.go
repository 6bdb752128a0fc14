package handlers

import (
	"context"

	"example.org/conclave/handlers/schema"
)

// takeValueMemory counts what a body's values take in memory: at most all that there is for bodies,
// which one that takes more has for itself then.
func (a *API) takeValueMemory(ctx context.Context, values int) *schema.Problem {
	held := &exchangeOf(ctx).admitted
	held.mu.Lock()
	left := a.options.BodyMemory - held.bodyBytes
	held.mu.Unlock()
	return a.takeBodyMemory(ctx, int(min(int64(min(values, schema.MaxValues)*valueBytes), left)))
}

// valueBytes is what a value takes in memory, about, once it is parsed: an interface, a
// place in a map with its key, or a short list.
const valueBytes = 128
