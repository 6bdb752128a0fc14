package handlers

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/search"
)

// Adapter is an operation of an interface that others have defined, such as OpenAI's. Its requests pass the same checks
// of host, origin, key, rate and parameters as those of the API's own operations, and the same admission, limits, log
// and metrics. Only the body is the adapter's to parse.
type Adapter struct {
	Method, Path string // the path may have a {part}, for http.Request.PathValue
	Scope        schema.Scope
	Cost         front.Cost
	// BodyBytes is how large a body may be, where that is less than Options.BodyBytes;
	// nil: as large as that.
	BodyBytes func(search.Limits) int64
	// Files says that the body is a form with a file, which may be as large as that of a
	// document.
	Files bool
	// Choose returns the collections that a request names in the way of the interface, several to be searched as
	// one; nil: it names none, and needed says whether it needs one. Nil: the path alone names one.
	Choose func(r *http.Request, body []byte) (collections []string, needed bool)
	// Manage answers a request that is of no one collection, in the place of Serve.
	Manage func(r *http.Request, m Manager) (Answer, error)
	// Serve answers a request, of which the body has been read whole. It ends with the
	// request's context.
	Serve func(r *http.Request, e AdmittedEngine) (Answer, error)
	// Refusal is an error as this interface has it: the status, and what is written as
	// JSON. Nil: the problem.
	Refusal func(p *schema.Problem) (status int, body any)
}

// Answer is what an adapter answers. At most one of Value, JSON and Events is set; without any, the answer has no body.
type Answer struct {
	Status int    // 0: 200
	Value  any    // is encoded as JSON
	JSON   []byte // is sent as it is
	// Events calls send with each value once it is known. Each is sent as a server-sent event, with a name if it is a
	// NamedEvent; "[DONE]" follows the last. Events returns the error of send. If it fails after the first event, the
	// error is sent as an event in the format of Refusal.
	Events func(send func(value any) error) error
}

// NamedEvent is a value that is sent as a server-sent event with a name.
type NamedEvent interface {
	// EventName returns the name of the event.
	EventName() string
}

// matchesPath reports whether a request's path may be one of the adapter's. Of an adapter's path with a {part} it
// compares only what comes before the first one.
func (x *Adapter) matchesPath(path string) bool {
	before, _, open := strings.Cut(x.Path, "{")
	return path == x.Path || open && strings.HasPrefix(path, before)
}

// refusalOf returns the function that writes errors for a path in the format of its adapter's interface. It returns nil
// if the path is no adapter's: errors are then problems of this API.
func (a *API) refusalOf(path string) func(*schema.Problem) (int, any) {
	if _, rest, ok := splitNamed(path); ok {
		beside := "/v1" + rest // comes first, as in underCollection
		own := false
		for _, o := range schema.APIDocument().Operations {
			own = own || o.Path == beside
		}
		if refusal := a.refusalOf(beside); own || refusal != nil {
			return refusal
		}
		return a.refusalOf(rest)
	}
	for i := range a.options.Adapters {
		if x := &a.options.Adapters[i]; x.matchesPath(path) {
			return x.Refusal
		}
	}
	return nil
}

// documentedOperation returns the operation by which requests to an adapter are checked: that of its path in
// openapi.yaml, or one for JSON if the document has none. It fails if the document has another scope for it.
func (x *Adapter) documentedOperation() (o schema.Operation, err error) {
	for _, described := range schema.APIDocument().Operations {
		if described.Method == x.Method && described.Path == x.Path {
			if described.Scope != x.Scope {
				err = fmt.Errorf("handlers: openapi.yaml has the scope %q for %s %s, which takes %q",
					described.Scope, x.Method, x.Path, x.Scope)
			}
			o = *described
			o.Choosing = x.Choose != nil || x.Manage != nil
			return o, err
		}
	}
	o = schema.Operation{
		Method:       x.Method,
		Path:         x.Path,
		Scope:        x.Scope,
		Produces:     []string{schema.TypeJSON},
		OfCollection: true,
	}
	o.Choosing = x.Choose != nil || x.Manage != nil
	if x.Method == http.MethodPost {
		o.Takes = []string{schema.TypeJSON}
	}
	return o, nil
}

// adapterRoute returns the route handler of an adapter. It asks the adapter (askAdapter) and sends its answer: events,
// a value or JSON text, or only the status if the answer is empty. It returns the errors of both, before anything is
// sent.
func adapterRoute(x *Adapter) func(*API, *call) error {
	return func(_ *API, c *call) error {
		answer, err := c.askAdapter(x)
		if err != nil {
			return err
		}
		if answer.Status != 0 {
			c.status = answer.Status
		}
		switch {
		case answer.Events != nil:
			return (&eventStream{c: c, ctx: c.r.Context()}).streamAdapter(x, answer.Events)
		case answer.Value != nil:
			return c.respond(c.status, answer.Value)
		case len(answer.JSON) == 0:
			c.w.WriteHeader(c.status)
			return nil
		}
		return c.sendText(c.status, schema.TypeJSON, answer.JSON)
	}
}

// askAdapter reads a request's body, opens the collections that it is for, and returns the answer of x.Serve, or of
// x.Manage if that is set. Serve runs with a processor of the call (holdTurn). If the request names no collection and
// needs none, Serve gets an engine that it must not ask. It returns a problem if the body cannot be taken or a
// collection cannot be opened.
func (c *call) askAdapter(x *Adapter) (answer Answer, err error) {
	var body []byte
	if c.operation.Takes != nil {
		body, err = c.readFor(x)
		if err != nil {
			return answer, err
		}
	}
	if x.Manage != nil {
		return x.Manage(c.r, callManager{c})
	}
	letGo, err := c.holdTurn()
	if err != nil {
		return answer, err
	}
	defer letGo()
	chosen := true
	if x.Choose != nil {
		chosen, err = c.openForAdapter(x, body)
		if err != nil {
			return answer, err
		}
	}
	engine := &admittedEngine{call: c} // which nobody asks
	if chosen {
		engine, err = c.admittedEngine()
		if err != nil {
			return answer, err
		}
	}
	return x.Serve(c.r, engine)
}

// readFor reads and returns the body of a request to an adapter, admits the request (readBody), and sets the body as
// the request's again. It returns a problem if the body cannot be read, if it is longer than the adapter's limit or has
// more than schema.MaxValues JSON values, or if the request is refused. A body of files may have
// WriteLimits.DocumentBytes, and any number of values.
func (c *call) readFor(x *Adapter) (body []byte, err error) {
	if x.Files {
		body, err = c.readBody(c.api.options.Write.DocumentBytes)
		c.r.Body = io.NopCloser(bytes.NewReader(body))
		return body, err
	}
	most := c.api.options.BodyBytes
	if x.BodyBytes != nil {
		limits := c.api.options.Limits
		if engine, err := c.admittedEngine(); err == nil {
			limits = engine.Limits()
		}
		if limits.QuestionBytes > 0 {
			most = min(most, x.BodyBytes(limits))
		}
	}
	body, values, err := c.readText(most)
	if err != nil {
		return nil, err
	}
	if values > schema.MaxValues {
		return nil, schema.TooManyValues()
	}
	c.r.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}
