package front

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

// LimitRate returns middleware that answers 429 to a caller with more than RateRequests requests in a RateWindow; next
// itself if RateRequests is 0. A caller is a key or, without a valid key, an address, so that guessing keys is limited
// too. Health checks are not counted.
func (g *Gate) LimitRate(next http.Handler) http.Handler {
	if g.options.RateRequests == 0 {
		return next
	}
	limited := httprate.LimitBy(
		g.options.RateRequests,
		g.options.RateWindow,
		callerName,
		httprate.WithLimitHandler(func(w http.ResponseWriter, r *http.Request) {
			WriteProblem(
				w,
				r,
				schema.NewProblem(
					"rate_limited",
					fmt.Sprintf("At most %d requests in %v are served to one caller.", g.options.RateRequests, g.options.RateWindow),
				),
			)
		}),
	)(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if IsProbePath(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		limited.ServeHTTP(w, r)
	})
}

// BoundConnections wraps next in middleware that answers 429 to a caller (a key or an address) whose requests under way
// already hold its share of the connections (overload.Connections.Claim). Otherwise a caller with slow or waiting
// requests could take all connections. Not counted are health checks and, on a server without keys, callers from this
// machine: with a proxy on this machine those are all callers.
func (g *Gate) BoundConnections(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		address, err := netip.ParseAddr(middleware.GetClientIP(r.Context()))
		if g.IsProbe(r.URL.Path) || len(g.options.Keys) == 0 && (err != nil || address.IsLoopback()) {
			next.ServeHTTP(w, r)
			return
		}
		c := overload.ConnectionOf(r.Context())
		release, ok := g.connections.Claim(c, CallerName(r))
		if ok {
			defer release()
			next.ServeHTTP(w, r)
			return
		}
		if r.ProtoMajor == 1 {
			w.Header().Set("Connection", "close")
			c.EndReading()
		}
		p := schema.NewProblem("too_many_requests", "The requests of this caller take as many connections as "+
			"one caller may have while others ask: wait until some are answered.")
		p.RetryAfter = 1
		WriteProblem(w, r, p)
	})
}

// IsProbe reports whether a path is that of a health check or of /metrics, which are answered even if all connections
// are taken.
func (g *Gate) IsProbe(path string) bool {
	path = strings.TrimPrefix(path, g.options.BasePath)
	return IsProbePath(path) || path == "/metrics"
}

// IsProbePath reports whether a path, without the base path, is that of a health check.
func IsProbePath(path string) bool {
	switch path {
	case "/livez", "/readyz", "/startupz":
		return true
	}
	return false
}

// CallerName returns the key or address under which a request is counted (callerName).
func CallerName(r *http.Request) string {
	who, _ := callerName(r)
	return who
}

// callerName returns the name that a request is counted under by LimitRate: its key, or its address. IPv6 addresses
// count by their /64, since one machine usually has all of it. The error is always nil.
func callerName(r *http.Request) (string, error) {
	if key := ExchangeOf(r.Context()).Key; key != nil {
		return "key " + key.Name, nil
	}
	return "address " + httprate.CanonicalizeIP(middleware.GetClientIP(r.Context())), nil
}
