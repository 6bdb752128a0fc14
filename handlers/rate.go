package handlers

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/overload"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/go-chi/httprate"
)

// limitRate bounds how often one caller may call: a key, or an address where
// there is no valid key, so that guessing keys is bounded too. Health checks
// are not counted.
func (a *API) limitRate(next http.Handler) http.Handler {
	if a.options.RateRequests == 0 {
		return next
	}
	limited := httprate.LimitBy(
		a.options.RateRequests,
		a.options.RateWindow,
		caller,
		httprate.WithLimitHandler(func(w http.ResponseWriter, r *http.Request) {
			writeProblem(
				w,
				r,
				schema.NewProblem(
					"rate_limited",
					fmt.Sprintf("At most %d requests in %v are served to one caller.", a.options.RateRequests, a.options.RateWindow),
				),
			)
		}),
	)(
		next,
	)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isProbePath(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		limited.ServeHTTP(w, r)
	})
}

// boundConnections wraps next in middleware that answers 429 to a caller (a key or an address) whose requests under way
// already hold its share of the connections (overload.Connections.Claim). Otherwise a caller with slow or waiting
// requests could take all connections. Not counted are health checks and, on a server without keys, callers from this
// machine: with a proxy on this machine those are all callers.
func (a *API) boundConnections(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		address, err := netip.ParseAddr(middleware.GetClientIP(r.Context()))
		if a.isProbe(r.URL.Path) || len(a.options.Keys) == 0 && (err != nil || address.IsLoopback()) {
			next.ServeHTTP(w, r)
			return
		}
		c := overload.ConnectionOf(r.Context())
		release, ok := a.connections.Claim(c, callerName(r))
		if ok {
			defer release()
			next.ServeHTTP(w, r)
			return
		}
		if r.ProtoMajor == 1 {
			w.Header().Set("Connection", "close")
			c.EndReading()
		}
		p := schema.NewProblem("too_many_requests", "The requests of this caller that are under way hold as many connections as "+
			"it may have beside others: wait until some are answered.")
		p.RetryAfter = 1
		writeProblem(w, r, p)
	})
}

// caller returns the name that a request is counted under by limitRate: its key, or its address. IPv6 addresses count
// by their /64, since one machine usually has all of it. The error is always nil.
func caller(r *http.Request) (string, error) {
	if key := exchangeOf(r.Context()).key; key != nil {
		return "key " + key.Name, nil
	}
	return "address " + httprate.CanonicalizeIP(middleware.GetClientIP(r.Context())), nil
}

// callerName returns the key or the address that a request is counted under (caller).
func callerName(r *http.Request) string {
	who, _ := caller(r)
	return who
}

// isProbe reports whether a path is that of a health check or of /metrics, which are answered even if all connections
// are taken.
func (a *API) isProbe(path string) bool {
	path = strings.TrimPrefix(path, a.options.BasePath)
	return isProbePath(path) || path == "/metrics"
}

// isProbePath reports whether a path, without the base path, is that of a health check.
func isProbePath(path string) bool {
	switch path {
	case "/livez", "/readyz", "/startupz":
		return true
	}
	return false
}
