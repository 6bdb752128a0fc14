package handlers

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"conclave/admission"
	"conclave/search"
)

// Adapter is an operation in the shapes of an interface that others have defined, for
// programs that speak that one. The document does not describe it. It has the same
// checks of host, origin, key and rate as the API's own operations, the same limits,
// log and metrics.
type Adapter struct {
	Method, Path string // the path may have a {part}, for http.Request.PathValue
	Scope        Scope
	// Serve answers. The body of the request has been read whole, and the engine
	// admits what it is asked. An error has to come before any answer.
	Serve func(w http.ResponseWriter, r *http.Request, e Engine) error
	// Refusal is an error as this interface has it: the status, and what is written as
	// JSON. Nil: the problem.
	Refusal func(p *Problem) (status int, body any)
}

// matches reports whether a path may be one of the adapter's.
func (x *Adapter) matches(path string) bool {
	before, _, open := strings.Cut(x.Path, "{")
	return path == x.Path || open && strings.HasPrefix(path, before)
}

// refusalOf is how errors of a path are written.
func (a *API) refusalOf(path string) func(*Problem) (int, any) {
	for i := range a.options.Adapters {
		if x := &a.options.Adapters[i]; x.matches(path) {
			return x.Refusal
		}
	}
	return nil
}

// operation is what is checked of an adapter's requests.
func (x *Adapter) operation() operation {
	o := operation{method: x.Method, path: x.Path, scope: x.Scope, produces: []string{typeJSON}}
	if x.Method == http.MethodPost {
		o.takes = []string{typeJSON}
	}
	return o
}

// adapted makes a route of an adapter.
func (a *API) adapted(x *Adapter) func(*call) error {
	return func(c *call) error {
		engine, err := a.loaded()
		if err != nil {
			return err
		}
		if c.operation.takes != nil {
			if p := a.crowded(); p != nil {
				return p
			}
			body, err := a.readBody(c.w, c.r, a.options.BodyBytes)
			if err != nil {
				return err
			}
			c.r.Body = io.NopCloser(bytes.NewReader(body))
		}
		return x.Serve(c.w, c.r, admitting{engine, a.options.Admission, exchangeOf(c.r.Context()).arrived})
	}
}

// WriteJSON answers with JSON, for adapters.
func WriteJSON(w http.ResponseWriter, body any) error {
	return respondWith(w, http.StatusOK, body)
}

// admitting is an engine that is asked no more than is let in. It may be asked by
// several goroutines for one request.
type admitting struct {
	Engine
	control *admission.Control
	arrived time.Time
}

func (e admitting) Search(ctx context.Context, r search.Request) (search.Response, error) {
	d := e.Defaults()
	place, err := e.control.Admit(costOf([]search.Request{r}, 1, d), e.arrived.Add(timeoutOf(r, d)))
	if err != nil {
		return search.Response{}, refusedBy(err)
	}
	defer place.Leave()
	return e.Engine.Search(search.Arrived(ctx, e.arrived), r)
}

func (e admitting) Embed(ctx context.Context, r search.EmbedRequest) (search.EmbedResponse, error) {
	done, err := e.control.Hold(costOfTexts(len(r.Input)))
	if err != nil {
		return search.EmbedResponse{}, refusedBy(err)
	}
	defer done()
	return e.Engine.Embed(ctx, r)
}

func (e admitting) Rerank(ctx context.Context, r search.RerankRequest) (search.RerankResponse, error) {
	done, err := e.control.Hold(costOfTexts(len(r.Texts)))
	if err != nil {
		return search.RerankResponse{}, refusedBy(err)
	}
	defer done()
	return e.Engine.Rerank(ctx, r)
}
