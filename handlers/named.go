package handlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/identity"
	"example.org/conclave/internal/wording"

	"github.com/go-chi/chi/v5"
)

// Every route of a collection is there twice: as it is written in routes.go, of the collection of
// requests that name none, and below CollectionsPath and a name. The router takes the latter off, so
// that nothing behind it knows two paths.

// collectionInPath returns the collection that a request's path names; "": none.
func collectionInPath(ctx context.Context) string {
	return front.ExchangeOf(ctx).Collection
}

// rootOf returns the path below which the request's collection is served, such as /v1/collections/NAME, with the
// server's base path before it. It is /v1 if the request's path names no collection.
func rootOf(ctx context.Context) string {
	if name := collectionInPath(ctx); name != "" {
		return front.BasePath(ctx) + schema.CollectionsPath + url.PathEscape(name)
	}
	return front.BasePath(ctx) + "/v1"
}

// splitNamed splits a path below /v1/collections/ into the collection's name and the rest, which begins with a slash.
// ok is false if the path is not below it, or names only the collection.
func splitNamed(path string) (name, rest string, ok bool) {
	below, ok := strings.CutPrefix(path, schema.CollectionsPath)
	if !ok {
		return "", "", false
	}
	name, rest, ok = strings.Cut(below, "/")
	return name, "/" + rest, ok && name != "" && rest != ""
}

// underCollection returns a handler that serves /v1/collections/NAME/REST as /v1/REST if the router has that path, else
// as /REST, such as /mcp, and notes NAME in the request's exchange. Other paths go to the router as they are.
func underCollection(router chi.Router) http.Handler {
	served := func(path string) bool {
		return router.Find(chi.NewRouteContext(), http.MethodOptions, path) != ""
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, rest, ok := splitNamed(r.URL.Path)
		if !ok {
			router.ServeHTTP(w, r)
			return
		}
		u := *r.URL
		u.Path = rest
		if r.URL.RawPath != "" {
			_, u.RawPath, _ = splitNamed(r.URL.RawPath)
		}
		if beside := "/v1" + cmp.Or(u.RawPath, u.Path); served(beside) {
			u.Path = "/v1" + u.Path
			if u.RawPath != "" {
				u.RawPath = "/v1" + u.RawPath
			}
		}
		r, x := front.WithExchange(r)
		x.Collection = name
		r = r.WithContext(r.Context()) // a copy, whose address may be changed
		r.URL = &u
		router.ServeHTTP(w, r)
	})
}

// documentedPath returns the path of the operation in openapi.yaml, with {collection} if the request names a
// collection. It is the route in logs and metrics.
func documentedPath(ctx context.Context, o *schema.Operation) string {
	if collectionInPath(ctx) == "" {
		return o.Path
	}
	return schema.PathNamed(o.Path)
}

// openNamed opens the collection that the request is for and sets c.api to it until the request is answered. It returns
// a problem if there is no such collection, or the caller's key may not use it, which looks the same. Operations
// without a collection, or that choose it themselves, are left as they are.
func (c *call) openNamed() error {
	name := collectionInPath(c.r.Context())
	if c.operation.Choosing && (name == "" || !c.operation.Search) {
		return nil
	}
	if !c.operation.OfCollection {
		if name != "" {
			return schema.NewProblem(
				"no_such_path",
				fmt.Sprintf("There is no %s of a collection; /docs lists what there is.", wording.Quote(c.r.URL.Path)),
			)
		}
		return nil
	}
	return c.openCollection(cmp.Or(name, c.api.options.Name))
}

// openCollection opens the collection of this name and sets c.api to it until the request is answered. It returns a
// problem if there is none that the key may use, it cannot be opened, or its request rate is exceeded.
func (c *call) openCollection(name string) error {
	if !c.mayUse(name) {
		return unknownCollection(name)
	}
	c.setGroup(name)
	all := c.api.options.Collections
	if all == nil {
		if name != c.api.options.Name {
			return unknownCollection(name)
		}
		return nil
	}
	began := time.Now()
	goOn := c.lendTurn()
	chosen, done, err := all.Use(c.r.Context(), name)
	goOn()
	if err != nil {
		return collectionProblem(err)
	}
	c.delayArrival(time.Since(began))
	c.ends = append(c.ends, done)
	c.api = &API{c.api.process, chosen}
	c.noteCollections(name)
	if p := c.api.takeFromPace(&chosen.pace, "this collection"); p != nil {
		return p
	}
	return nil
}

// openCollections opens several collections to be searched as one, and sets c.api to them until the request is
// answered. Without names it opens the default collection. The server must have several collections. It returns a
// problem if the key may not use one, they cannot be opened or joined, or the request rate of one is exceeded.
func (c *call) openCollections(names []string) error {
	if len(names) == 0 {
		return c.openCollection(c.api.options.Name)
	}
	for _, name := range names {
		if !c.mayUse(name) {
			return unknownCollection(name)
		}
	}
	c.setGroup(names[0])
	began := time.Now()
	goOn := c.lendTurn()
	joined, done, err := c.api.options.Collections.Join(c.r.Context(), names)
	goOn()
	if err != nil {
		return collectionProblem(err)
	}
	c.delayArrival(time.Since(began))
	c.ends = append(c.ends, done)
	c.api = &API{c.api.process, joined}
	c.noteCollections(names...)
	for _, one := range joined.members {
		if p := c.api.takeFromPace(&one.pace, "the collection "+one.name); p != nil {
			return p
		}
	}
	return nil
}

// delayArrival moves the request's arrival by the time that it waited for collections to be opened. So the first
// request after a start has as much time for its answer as later ones.
func (c *call) delayArrival(by time.Duration) {
	x := front.ExchangeOf(c.r.Context())
	x.Arrived = x.Arrived.Add(by)
}

// noteCollections adds collections to those that the request is logged and counted under, each once.
func (c *call) noteCollections(names ...string) {
	x := front.ExchangeOf(c.r.Context())
	for _, name := range names {
		if !slices.Contains(x.Collections, name) {
			x.Collections = append(x.Collections, name)
		}
	}
}

// setGroup sets the group under which the request shares processors and places with others (overload). The group is
//
//  1. the key alone, if it is limited to collections or the server has one collection, so that many collections give a
//     key no larger share;
//  2. the collection and the key, for other keys;
//  3. the client's address, for callers without a key on a server with keys;
//  4. the collection, on a server of several without keys; and none otherwise.
func (c *call) setGroup(collection string) {
	x := front.ExchangeOf(c.r.Context())
	switch {
	case x.Key != nil && (len(x.Key.Collections) > 0 || c.api.options.Collections == nil):
		x.Group = "\x00" + x.Key.Name
	case x.Key != nil:
		x.Group = collection + "\x00" + x.Key.Name
	case len(c.api.options.Keys) > 0:
		x.Group = "\x00\x00" + front.CallerName(c.r)
	case c.api.options.Collections != nil:
		x.Group = collection + "\x00"
	}
	c.r = c.r.WithContext(identity.WithGroup(c.r.Context(), x.Group))
}

// mayUse reports whether the caller's key may use a collection; true for callers without a key.
func (c *call) mayUse(name string) bool {
	key := front.ExchangeOf(c.r.Context()).Key
	return key == nil || key.IsFor(name)
}

// unknownCollection returns the problem of a collection that does not exist or that the key may not use (404).
func unknownCollection(name string) *schema.Problem {
	return schema.NewProblem(collections.Unknown, fmt.Sprintf("There is no collection %s.", wording.Quote(name)))
}

// collectionProblem returns the problem for an error of opening, creating or removing a collection.
func collectionProblem(err error) error {
	var refused *collections.Error
	if errors.As(err, &refused) {
		return schema.NewProblem(refused.Code, schema.Sentence(refused.Detail)).Because(refused.Cause)
	}
	return err
}
