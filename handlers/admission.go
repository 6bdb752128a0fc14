package handlers

import (
	"context"
	"fmt"
	"slices"

	"conclave/search"
)

// resultsAPlace is how many results a search may ask for on one place.
const resultsAPlace = 100

// textsAPlace is how many texts are embedded on one place.
const textsAPlace = 16

// admitted is what a request holds of the server until it has been answered:
// places among those worked on, and bytes of bodies. Neither is waited for,
// since waiting would only hide the load from the caller.
type admitted struct{ places, bodyBytes int64 }

// take raises the request's places to a cost: one for a body that has to be
// read as JSON, more once it is known what it asks for. What costs more than
// there is takes everything.
func (a *API) take(ctx context.Context, cost int) *Problem {
	held := &exchangeOf(ctx).admitted
	more := min(int64(cost), int64(a.concurrency)) - held.places
	if more <= 0 {
		return nil
	}
	if !a.places.TryAcquire(more) {
		return newProblem("too_many_requests", fmt.Sprintf("The server works on %d places at once, and fewer than the %d that this request needs are free. A search needs one for each %d results (k, for each method), a batch as many as its searches that run at once.", a.concurrency, held.places+more, resultsAPlace))
	}
	held.places += more
	return nil
}

// buffer counts bytes of the request's body, before they are read.
func (a *API) buffer(ctx context.Context, more int) *Problem {
	if !a.bodies.TryAcquire(int64(more)) {
		return newProblem("too_many_requests", "The bodies that are being read take all the memory that there is for them.")
	}
	exchangeOf(ctx).admitted.bodyBytes += int64(more)
	return nil
}

// release gives back what a request held.
func (a *API) release(ctx context.Context) {
	held := &exchangeOf(ctx).admitted
	a.places.Release(held.places)
	a.bodies.Release(held.bodyBytes)
	*held = admitted{}
}

// costOf is how many places searches need of which so many run at once: those
// that ask for the most.
func costOf(requests []search.Request, atOnce int, d search.Defaults) int {
	costs := make([]int, len(requests))
	for i, r := range requests {
		k := r.K
		if k == 0 {
			k = d.K
		}
		costs[i] = (k*max(len(r.Fusion.Names), 1) + resultsAPlace - 1) / resultsAPlace
	}
	slices.Sort(costs)
	total := 0
	for _, cost := range costs[max(len(costs)-atOnce, 0):] {
		total += cost
	}
	return total
}
