package front

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/identity"
)

// Key is one API key, known by the SHA-256 of its text alone.
type Key struct {
	Name    string // what the log calls it
	SHA256  [sha256.Size]byte
	Scopes  []schema.Scope
	Expires time.Time // zero: never
	// Collections are the names, or patterns of path.Match, of the collections that it may use; nil: all.
	Collections []string
	// Filter is the condition that passages must meet for the key to see them; nil: it sees all.
	Filter *conditions.Condition
	// RequestsASecond is the most requests a second on average; 0: no limit.
	RequestsASecond float64
	// Quotas bound the passages and bytes of each collection that it makes, and MostCollections how many there may be
	// of its names when it makes one; 0: no bound.
	Quotas          collections.Quotas
	MostCollections int

	Pace *Pace
}

// IsFor reports whether the key may be used for a collection. A malformed pattern matches none.
func (k *Key) IsFor(collection string) bool {
	matches := func(pattern string) bool {
		ok, err := path.Match(pattern, collection)
		return ok && err == nil
	}
	return len(k.Collections) == 0 || slices.ContainsFunc(k.Collections, matches)
}

// IsBound reports whether the key is limited to some collections (Collections) or to some passages (Filter).
func (k *Key) IsBound() bool { return len(k.Collections) > 0 || !k.Filter.Empty() }

// HasBoundKeys reports whether any key of the server is limited to some collections or passages (IsBound).
func (g *Gate) HasBoundKeys() bool {
	return slices.ContainsFunc(g.options.Keys, func(k Key) bool { return k.IsBound() })
}

// hasScope reports whether the key has this scope. An admin key has all scopes, and every key has AnyKey.
func (k *Key) hasScope(scope schema.Scope) bool {
	return scope == schema.AnyKey || slices.Contains(k.Scopes, scope) || slices.Contains(k.Scopes, schema.ScopeAdmin)
}

// Identify returns middleware that puts the caller's key into the request's exchange, and its name and restriction into
// the context. It refuses no request, even with a wrong key: the rate limit counts those too, and some paths need no
// key (Require).
func (g *Gate) Identify(next http.Handler) http.Handler {
	if len(g.options.Keys) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := ExchangeOf(r.Context())
		x.Key, x.keyProblem = g.presentedKey(r)
		if x.Key != nil {
			r = r.WithContext(identity.WithName(identity.Restrict(r.Context(), x.Key.Filter), x.Key.Name))
		}
		next.ServeHTTP(w, r)
	})
}

// presentedKey returns the key that the request's headers name, or the problem of a missing, unknown or expired one.
// One of both is nil.
func (g *Gate) presentedKey(r *http.Request) (*Key, *schema.Problem) {
	text, problem := keyText(r)
	if problem != nil {
		return nil, problem
	}
	// The hash makes all texts equally long, and every key is compared, so
	// that the time taken says nothing about how far a guess was right.
	sum := sha256.Sum256([]byte(text))
	var found *Key
	for i := range g.options.Keys {
		if subtle.ConstantTimeCompare(sum[:], g.options.Keys[i].SHA256[:]) == 1 {
			found = &g.options.Keys[i]
		}
	}
	switch {
	case found == nil:
		return nil, newUnauthorized(schema.InvalidToken, "This key is not known here.")
	case !found.Expires.IsZero() && g.options.Now().After(found.Expires):
		return nil, newUnauthorized(
			schema.InvalidToken, fmt.Sprintf("This key expired on %s.", found.Expires.UTC().Format(time.RFC3339)),
		)
	}
	return found, nil
}

// keyText returns the text of the key in a request's headers, or the problem of a missing, repeated or malformed one.
// One of both is "" or nil.
func keyText(r *http.Request) (string, *schema.Problem) {
	bearer, plain := r.Header.Values("Authorization"), r.Header.Values("X-API-Key")
	switch {
	case len(bearer)+len(plain) == 0:
		return "", newUnauthorized("", "Send a key as \"Authorization: Bearer KEY\" or \"X-API-Key: KEY\".")
	case len(bearer)+len(plain) > 1:
		return "", newUnauthorized("invalid_request", "Send one key, in Authorization or in X-API-Key, and once.")
	case len(plain) == 1:
		return plain[0], nil
	}
	scheme, text, ok := strings.Cut(bearer[0], " ")
	text = strings.TrimSpace(text)
	if !ok || !strings.EqualFold(scheme, "Bearer") || text == "" {
		return "", newUnauthorized("invalid_request", "Authorization has to be \"Bearer KEY\".")
	}
	return text, nil
}

// newUnauthorized returns a problem 401 whose WWW-Authenticate header has reason as its error code; "": none.
func newUnauthorized(reason, detail string) *schema.Problem {
	p := schema.NewProblem("unauthorized", detail)
	p.Challenge = `Bearer realm="conclave"`
	if reason != "" {
		p.Challenge += fmt.Sprintf(`, error=%q`, reason)
	}
	return p
}

// Require returns nil if the caller may use operations of this scope, otherwise the problem to answer with (401 or
// 403).
func (g *Gate) Require(ctx context.Context, scope schema.Scope) *schema.Problem {
	if scope == schema.Public || len(g.options.Keys) == 0 {
		return nil
	}
	x := ExchangeOf(ctx)
	if x.Key == nil {
		return x.keyProblem
	}
	if !x.Key.hasScope(scope) {
		p := schema.NewProblem(
			"insufficient_scope",
			fmt.Sprintf(
				"This needs a key with the scope %q; the key %q has %s.", scope, x.Key.Name, scopeList(x.Key.Scopes),
			),
		)
		p.Challenge = fmt.Sprintf(`Bearer realm="conclave", error="insufficient_scope", scope=%q`, scope)
		return p
	}
	return nil
}

// scopeList returns the names of scopes as a list for an error message.
func scopeList(scopes []schema.Scope) string {
	var out []string
	for _, s := range scopes {
		out = append(out, string(s))
	}
	return strings.Join(out, ", ")
}
