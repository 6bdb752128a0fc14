package handlers

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"conclave/admission"
	"conclave/search"
)

// resultsAPlace is how many results a search may ask for at the cost of one.
const resultsAPlace = 100

// textsAPlace is how many texts are embedded at the cost of one search.
const textsAPlace = 16

// admitted is what a request holds of the server until it has been answered.
type admitted struct {
	place     *admission.Place // of a search; nil: it has none
	done      func()           // gives back what another request holds; nil: it holds nothing
	bodyBytes int64
}

// letIn lets in a search, which has to be answered before its deadline. Nothing
// is waited for, since waiting would only hide the load from the caller.
func (a *API) letIn(ctx context.Context, cost int, deadline time.Time) *Problem {
	place, err := a.options.Admission.Admit(cost, deadline)
	exchangeOf(ctx).admitted.place = place
	return refusedBy(err)
}

// crowded is the problem of a search while none is let in: its body need not be
// read.
func (a *API) crowded() *Problem { return refusedBy(a.options.Admission.Room()) }

// hold lets in a request that takes as long as it likes.
func (a *API) hold(ctx context.Context, cost int) *Problem {
	done, err := a.options.Admission.Hold(cost)
	exchangeOf(ctx).admitted.done = done
	return refusedBy(err)
}

func refusedBy(err error) *Problem {
	var refusal *admission.Refusal
	if !errors.As(err, &refusal) {
		return nil
	}
	p := newProblem("too_many_requests", sentence(refusal.Error()))
	p.retryAfter = int(refusal.After / time.Second)
	return p
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
	if held.place != nil {
		held.place.Leave()
	}
	if held.done != nil {
		held.done()
	}
	a.bodies.Release(held.bodyBytes)
	*held = admitted{}
}

// costOf is what searches cost of which so many run at once: those that ask for
// the most. An ordinary search is the unit.
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

// costOfTexts is what it costs to encode so many texts.
func costOfTexts(n int) int { return (n + textsAPlace - 1) / textsAPlace }

// timeoutOf is how long a search may take.
func timeoutOf(r search.Request, d search.Defaults) time.Duration {
	if r.TimeoutMS > 0 {
		return time.Duration(r.TimeoutMS) * time.Millisecond
	}
	return d.Timeout
}

// encodeInTurn writes an answer as JSON when a processor is free: that of a
// thousand passages takes milliseconds.
func (a *API) encodeInTurn(ctx context.Context, into *bytes.Buffer, answer any) error {
	done, err := a.options.Admission.Turn(ctx)
	if err != nil {
		return err
	}
	defer done()
	into.Reset()
	if err := encode(into, answer); err != nil {
		return err
	}
	if place := exchangeOf(ctx).admitted.place; place != nil {
		place.Done()
	}
	return nil
}
