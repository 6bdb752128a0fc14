package handlers

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
)

// call is one request on the way through its route.
type call struct {
	api       *API
	operation *schema.Operation
	cost      front.Cost
	w         http.ResponseWriter
	r         *http.Request
	ends      []context.CancelFunc // of the contexts of r
	clock     *workClock           // of an answer that is sent in parts; nil: of others

	bodyBytes int // size of the body, once it was read

	query  map[string]any // the query string's parameters, with the document's types
	name   string         // the end of a path that ends with a name or id
	status int            // of the answer, when all is well
}

// none is the body of a request or of an answer that has none.
type none struct{}

// serveJSON returns a route handler that decodes the request's body, calls do with it, and answers with do's result as
// JSON. In or Out may be none. Errors are returned, for the caller to answer as problems. While do makes a change
// (front.Storing), which has no time limit, it moves the connection's write deadline.
func serveJSON[In, Out any](do func(*API, *call, In) (Out, error)) func(*API, *call) error {
	return func(a *API, c *call) error {
		var in In
		if c.operation.Body != nil {
			if err := c.decodeBody(&in); err != nil {
				return err
			}
		}
		stop := func() {}
		if c.cost.Kind == front.KindStoring {
			control := http.NewResponseController(c.w)
			stop = a.keepExtending(func() { a.extendWriting(control) })
		}
		out, err := do(a, c, in)
		stop()
		if err != nil {
			return err
		}
		if _, nothing := any(out).(none); nothing {
			c.w.WriteHeader(http.StatusNoContent)
			return nil
		}
		return c.respond(c.status, out)
	}
}

// decodeBody reads the whole body and decodes it. It returns a problem if the body cannot be read or violates the
// schema of the operation in openapi.yaml.
func (c *call) decodeBody(into any) error {
	body, err := c.readJSON()
	if err != nil {
		return err
	}
	return c.computeBody(func() error {
		if p := schema.Decode(c.operation.Body, body, schema.MaxViolations, into); p != nil {
			return p
		}
		return nil
	})
}

// checkRequest returns nil if the request, except for its body, is one that openapi.yaml allows for the operation, and
// the caller's key may use it now. Otherwise it returns the problem. It sets c.name and c.query, and takes one request
// from the rate limit of the key.
func (c *call) checkRequest() (err error) {
	o := c.operation
	if err := c.api.gate.Require(c.r.Context(), o.Scope); err != nil {
		return err
	}
	if key := front.ExchangeOf(c.r.Context()).Key; key != nil && c.cost.Kind != front.KindProbing {
		if p := c.api.takeFromPace(key.Pace, "this key"); p != nil {
			return p
		}
	}
	if err := checkAccept(c.r, o.Produces); err != nil {
		return err
	}
	if o.Takes != nil {
		if err := checkContentType(c.r, o); err != nil {
			return err
		}
	} else if c.r.ContentLength != 0 {
		return schema.NewProblem("unexpected_body", fmt.Sprintf("%s takes its parameters from the path and the query string; the body would be ignored.", c.r.Method))
	}
	if prefix, _, ok := strings.Cut(o.Path, "{"); ok {
		c.name, err = pathAfter(c.r, prefix)
		if err != nil {
			return err
		}
	}
	if o.Strict {
		c.query, err = o.ReadQuery(c.r.URL.RawQuery)
	}
	return err
}

// pathAfter returns the request's path after a prefix, unescaped. It may contain slashes, which were sent as / or as
// %2F. It returns a problem if the rest is empty or not UTF-8.
func pathAfter(r *http.Request, prefix string) (rest string, err error) {
	rest = strings.TrimPrefix(routePath(r), prefix)
	if r.URL.RawPath != "" {
		rest, err = url.PathUnescape(rest)
	}
	switch {
	case err != nil || !utf8.ValidString(rest):
		return "", schema.NewProblem("invalid_utf8", "The path has to be UTF-8, percent-encoded.")
	case rest == "":
		return "", schema.NewProblem("no_such_path", fmt.Sprintf("The path ends after %s; a name or id is missing.", prefix))
	}
	return rest, nil
}
