package handlers

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
)

// registration is an operation with the router's pattern under which it is served.
type registration struct {
	method, pattern string
	cost            front.Cost
}

// register registers an operation with the router; GET is served for HEAD too. Every route is registered here, so every
// request passes the checks of checkedHandler and has this cost. It fails if cost is not valid.
func (a *API) register(router chi.Router, o schema.Operation, cost front.Cost, handle func(*API, *call) error) error {
	if err := cost.Check(); err != nil {
		return fmt.Errorf("handlers: %s %s: %w", o.Method, o.Path, err)
	}
	// A passage's id is the rest of the path, since ids may have slashes
	// (wiki/42); written as %2F they arrive here too.
	pattern := strings.Replace(o.Path, "passages/{id}", "passages/*", 1)
	pattern = strings.Replace(pattern, "documents/{id}", "documents/*", 1)
	pattern = strings.Replace(pattern, "originals/{id}", "originals/*", 1)
	served := []string{o.Method}
	if o.Method == http.MethodGet {
		served = append(served, http.MethodHead)
	}
	for _, method := range served {
		router.Method(method, pattern, a.checkedHandler(&o, cost, handle))
		a.registrations = append(a.registrations, registration{method, pattern, cost})
	}
	return nil
}

// checkedHandler returns the handler of an operation. Before it calls handle, it checks the caller's scope, Accept, the
// body's type and the parameters, and takes a place of this cost. A request that fails a check is answered with a
// problem.
func (a *API) checkedHandler(o *schema.Operation, cost front.Cost, handle func(*API, *call) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		front.ExchangeOf(r.Context()).Route = documentedPath(r.Context(), o)
		c := &call{api: a, operation: o, cost: cost, w: w, r: r, status: http.StatusOK}
		defer c.releaseAll()
		err := c.checkRequest()
		if err == nil {
			c.setGroup(cmp.Or(collectionInPath(r.Context()), a.options.Name))
			err = c.admitEarly()
		}
		if err == nil {
			err = c.openNamed()
		}
		if err == nil {
			err = handle(c.api, c)
		}
		if err != nil {
			front.WriteProblem(w, r, problemOf(r.Context(), err))
		}
	})
}

// admitEarly returns an error if the request would be refused now, before its body is read. A request without a body is
// complete, so it takes its place here (admit); the others call admit when their body was read. Health checks need no
// place: it returns nil.
func (c *call) admitEarly() error {
	switch {
	case c.cost.Kind == front.KindProbing:
		return nil
	case c.operation.Takes == nil:
		return c.admit(front.ExchangeOf(c.r.Context()).Arrived)
	}
	group := front.ExchangeOf(c.r.Context()).Group
	if p := c.api.admission.RefusedNow(group, c.cost.Kind == front.KindSearching); p != nil {
		return p
	}
	return nil
}

// admit records that the whole request was received at this time. It starts the time limits of the operation and
// takes a place. It returns the problem of a refusal (429).
func (c *call) admit(when time.Time) error {
	x := front.ExchangeOf(c.r.Context())
	x.Arrived = when
	if c.cost.Kind == front.KindProbing {
		return nil
	}
	switch c.cost.Kind {
	case front.KindAnswering:
		c.limitTime(when.Add(c.api.options.Timeout))
	case front.KindSearching, front.KindConversing:
		c.limitTime(when.Add(c.api.options.Timeout + c.api.options.Writing))
	case front.KindInParts:
		var stop func()
		c.clock, stop = newClock(c.r.Context(), c.api.options.Timeout)
		c.ends = append(c.ends, stop)
	}
	x.Admitted.SetExtra(c.cost)
	if p := c.api.admission.HoldPlaces(c.r.Context(), 1); p != nil {
		return p
	}
	return nil
}

// limitTime makes the request's context end at this time. If it would end earlier anyway, that stays. releaseAll
// releases the timer.
func (c *call) limitTime(end time.Time) {
	ctx, cancel := context.WithDeadline(c.r.Context(), end)
	c.r = c.r.WithContext(ctx)
	c.ends = append(c.ends, cancel)
}

// releaseAll gives back everything that the request holds: place, processor, memory, collections.
func (c *call) releaseAll() {
	c.api.admission.ReleaseAll(c.r.Context())
	for _, end := range c.ends {
		end()
	}
}
