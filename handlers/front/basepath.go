package front

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"example.org/conclave/internal/wording"
)

// A server may be reached under a path, behind a proxy that leaves it in the request or
// takes it off. The path is the configured one, or that of X-Forwarded-Prefix where a
// trusted proxy sends it. Addresses in answers begin with it.

// BasePath returns the path under which a request's caller reaches the server, such as /conclave; "" if there is none.
func BasePath(ctx context.Context) string {
	return ExchangeOf(ctx).base
}

// UnderBasePath returns middleware that removes the base path from a request's path and remembers it (BasePath). The
// base path is the server's own, or the one that a trusted proxy states (X-Forwarded-Prefix). A request for the bare
// base path is redirected to the one with a slash at its end; a path that is not under the base path is passed on
// unchanged.
func (g *Gate) UnderBasePath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		base := g.options.BasePath
		if addressed := forwardedPrefix(r, g.options.Proxies); addressed != "" {
			base = addressed
		}
		if base == "" {
			next.ServeHTTP(w, r)
			return
		}
		r, x := WithExchange(r)
		x.base = base
		if r.URL.Path == base {
			// What the page there loads lies beside it.
			to := url.URL{Path: base + "/", RawQuery: r.URL.RawQuery}
			http.Redirect(w, r, to.String(), http.StatusPermanentRedirect)
			return
		}
		r.URL = withoutPrefix(r.URL, base)
		next.ServeHTTP(w, r)
	})
}

// withoutPrefix returns a copy of u without the base path, or u if its path does not begin with that.
func withoutPrefix(u *url.URL, base string) *url.URL {
	path, under := strings.CutPrefix(u.Path, base+"/")
	raw, rawUnder := strings.CutPrefix(u.RawPath, base+"/")
	if !under || u.RawPath != "" && !rawUnder {
		return u
	}
	v := *u
	v.Path = "/" + path
	if u.RawPath != "" {
		v.RawPath = "/" + raw
	}
	return &v
}

// forwardedPrefix returns the path that a proxy says it removed (X-Forwarded-Prefix); "" if there is none or the proxy
// is not among the trusted ones.
func forwardedPrefix(r *http.Request, proxies []netip.Prefix) string {
	addressed := r.Header.Values("X-Forwarded-Prefix")
	if len(addressed) != 1 || len(proxies) == 0 {
		return ""
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	prefix := strings.TrimRight(addressed[0], "/")
	for _, block := range proxies {
		if block.Contains(peer.Addr().Unmap()) && IsBasePath(prefix) {
			return prefix
		}
	}
	return ""
}

// IsBasePath reports whether a text is a path that a server can be reached under: steps of
// letters, digits, - _ . and ~, each after a slash, such as /tools/conclave.
func IsBasePath(text string) bool {
	if len(text) > 200 || !strings.HasPrefix(text, "/") {
		return false
	}
	for step := range strings.SplitSeq(text[1:], "/") {
		if step == "" || step == "." || step == ".." || strings.Trim(step, wording.NameLetters+".~") != "" {
			return false
		}
	}
	return true
}
