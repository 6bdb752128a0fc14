package handlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"example.org/conclave/handlers/schema"

	"github.com/go-chi/chi/v5"
)

// Cost is what a request takes of the server while it is answered. Whoever registers a
// route, an adapter or a tool says it, by one of the functions below; the zero value is
// refused.
type Cost struct {
	kind  costKind
	bytes int // of the answer, beside what the engine takes room for
}

type costKind int

const (
	unstated costKind = iota
	probing
	answering
	searching
	inParts
	storing
)

// Probing returns the cost of what tells how the server does. It is answered whatever else
// there is to do, and has to take next to nothing.
func Probing() Cost { return Cost{kind: probing} }

// Answering returns the cost of what is answered from what the server has. It takes a place
// as soon as all of the request is there, or as many as what it asks the engine for
// costs, until its answer is made. It takes room for what the engine reads and for so
// many bytes beside. It ends when its time is over: that which it asks for, and at the
// most Options.Timeout.
func Answering(bytes int) Cost { return Cost{answering, bytes} }

// Searching returns the cost of what may search: Answering, but that it is refused before its body
// is read while no search is admitted.
func Searching(bytes int) Cost { return Cost{searching, bytes} }

// AnsweringInParts returns Answering(0) for what sends a part of its answer before the
// next is made: the time of sending does not count, so it has a clock instead of a
// deadline.
func AnsweringInParts() Cost { return Cost{kind: inParts} }

// Storing returns the cost of a change: Answering, but that it may take as long as storing
// takes. It ends with its caller or with the server.
func Storing() Cost { return Cost{kind: storing} }

// errNoCost is a mistake in the program.
var errNoCost = errors.New("it is not said what it costs")

// check refuses a cost that nobody stated.
func (c Cost) check() error {
	if c.kind == unstated || c.bytes < 0 {
		return errNoCost
	}
	return nil
}

// registration is an operation that is served, under a pattern of the router.
type registration struct {
	method, pattern string
	cost            Cost
}

// open registers an operation. It is the only way to a router's routes: whoever comes
// in was let in, at this cost.
func (a *API) open(router chi.Router, o schema.Operation, cost Cost, handle func(*API, *call) error) error {
	if err := cost.check(); err != nil {
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
		router.Method(method, pattern, a.serve(&o, cost, handle))
		a.registrations = append(a.registrations, registration{method, pattern, cost})
	}
	return nil
}

// serve returns the way of every request to its route: may the caller, does it take what
// is produced, is its body of a type that is taken, are its parameters known, and is
// there a place for it.
func (a *API) serve(o *schema.Operation, cost Cost, handle func(*API, *call) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		exchangeOf(r.Context()).route = documentedPath(r.Context(), o)
		c := &call{api: a, operation: o, cost: cost, w: w, r: r, status: http.StatusOK}
		defer c.leave()
		err := c.check()
		if err == nil {
			c.joinGroup(cmp.Or(named(r.Context()), a.options.Name))
			err = c.enter()
		}
		if err == nil {
			err = c.resolve()
		}
		if err == nil {
			err = handle(c.api, c)
		}
		if err != nil {
			writeProblem(w, r, problemOf(r.Context(), err))
		}
	})
}

// enter returns the problem of a request that would be refused now, before its body is read. A request without a body
// is complete and takes its place here (arrived); one with a body takes it when the body was read. Health checks need
// none.
func (c *call) enter() error {
	switch {
	case c.cost.kind == probing:
		return nil
	case c.operation.Takes == nil:
		return c.arrived(exchangeOf(c.r.Context()).arrived)
	}
	if p := c.api.refusedNow(exchangeOf(c.r.Context()).group, c.cost.kind == searching); p != nil {
		return p
	}
	return nil
}

// arrived records that the whole request was received at this time. It starts the time limits of the operation and
// takes a place. It returns the problem of a refusal (429).
func (c *call) arrived(when time.Time) error {
	x := exchangeOf(c.r.Context())
	x.arrived = when
	if c.cost.kind == probing {
		return nil
	}
	switch c.cost.kind {
	case answering:
		c.limit(when.Add(c.api.options.Timeout))
	case searching:
		c.limit(when.Add(c.api.options.Timeout + c.api.options.Writing))
	case inParts:
		var stop func()
		c.clock, stop = newClock(c.r.Context(), c.api.options.Timeout)
		c.ends = append(c.ends, stop)
	}
	x.admitted.setExtra(c.cost)
	if p := c.api.holdPlaces(c.r.Context(), 1); p != nil {
		return p
	}
	return nil
}

// limit ends a request's context at a time, unless it ends earlier.
func (c *call) limit(end time.Time) {
	ctx, cancel := context.WithDeadline(c.r.Context(), end)
	c.r = c.r.WithContext(ctx)
	c.ends = append(c.ends, cancel)
}

// leave gives back all that a request holds.
func (c *call) leave() {
	c.api.releaseAll(c.r.Context())
	for _, end := range c.ends {
		end()
	}
}
