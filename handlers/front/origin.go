package front

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/go-chi/cors"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/wording"
)

// Loopback is no boundary against a browser: any page that the user visits can
// make the browser send requests to 127.0.0.1, and, by pointing its own name
// there (DNS rebinding), read the answers. Two checks keep such pages out. A
// name that is not this server's is refused while there are no keys, and what a
// browser marks as coming from another origin is refused always, unless the
// origin is on the list.

// CheckHost returns middleware that, while no keys are configured, refuses requests whose Host header does not name
// this server (ownHost), as after DNS rebinding. The allowed host * turns it off.
func (g *Gate) CheckHost(next http.Handler) http.Handler {
	if len(g.options.Keys) > 0 || slices.Contains(g.options.AllowedHosts, "*") {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.ownHost(r) {
			WriteProblem(w, r, schema.NewProblem("foreign_host", fmt.Sprintf(
				"Host is %s. Without keys it has to be localhost, a loopback address or a name in server.allowed_hosts.",
				wording.Quote(r.Host),
			)))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownHost reports whether a request's Host names this server: localhost, a loopback address, an allowed host, or the
// address that the connection came in on.
func (g *Gate) ownHost(r *http.Request) bool {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if host == "localhost" {
		return true
	}
	for _, allowed := range g.options.AllowedHosts {
		if strings.EqualFold(host, allowed) {
			return true
		}
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	address = address.Unmap()
	if address.IsLoopback() {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	return err == nil && at.Addr().Unmap() == address
}

// EmbedPath is where the script is that puts a search box into pages of other origins. Any page may load it; what it
// asks is held to the list of origins as everything else is.
const EmbedPath = "/embed.js"

// CheckOrigin returns middleware that refuses requests which a browser sends on behalf of a page of another origin
// (403), except for the listed origins and the script at EmbedPath. Unlike net/http's check it refuses GET too, since a
// GET runs models here; a person's own navigation, such as a link to /docs, passes.
func (g *Gate) CheckOrigin(next http.Handler) http.Handler {
	if slices.Contains(g.options.CORSOrigins, "*") {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.TrimPrefix(r.URL.Path, g.options.BasePath) == EmbedPath {
			next.ServeHTTP(w, r)
			return
		}
		safe := r.Method == http.MethodGet || r.Method == http.MethodHead
		if safe && r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Mode") == "navigate" {
			next.ServeHTTP(w, r)
			return
		}
		probe := *r
		probe.Method = http.MethodPost
		if err := g.crossOrigin.Check(&probe); err != nil {
			WriteProblem(w, r, schema.NewProblem("foreign_origin", fmt.Sprintf(
				"A page of another origin (%s) may not call this server; server.cors_origins lists those that may.",
				wording.Quote(r.Header.Get("Origin")),
			)).Because(err))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// newCrossOrigin returns net/http's check of origins with the listed ones trusted. It fails if one is malformed.
func newCrossOrigin(origins []string) (*http.CrossOriginProtection, error) {
	protection := http.NewCrossOriginProtection()
	for _, origin := range origins {
		if origin == "*" {
			continue
		}
		if err := protection.AddTrustedOrigin(origin); err != nil {
			return nil, err
		}
	}
	return protection, nil
}

// AllowCORS returns middleware that answers preflight requests of the listed origins and lets their pages read answers.
// Without a list it changes nothing.
func (g *Gate) AllowCORS(next http.Handler) http.Handler {
	if len(g.options.CORSOrigins) == 0 {
		return next // an empty list would mean everybody to the library
	}
	return cors.Handler(cors.Options{
		AllowedOrigins: g.options.CORSOrigins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete},
		// Any: clients of OpenAI's interface send some of their own (X-Stainless-Lang), and
		// what a listed origin sends is no worse for its name.
		AllowedHeaders: []string{"*"},
		ExposedHeaders: g.options.ExposedHeaders,
		MaxAge:         600,
	})(next)
}

// Secure returns middleware that sets the headers by which a browser may only show an answer: it must not guess the
// type, load anything for it, frame it, or let other sites read it.
func Secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}
