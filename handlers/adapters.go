package handlers

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"conclave/search"
)

// Adapter is an operation of an interface that others have defined. The document does
// not describe it. It has the same checks of host, origin, key and rate as the API's
// own operations, the same limits, log and metrics.
type Adapter struct {
	Method, Path string // the path may have a {part}, for http.Request.PathValue
	Scope        Scope
	// Serve answers. The body of the request has been read whole, and the engine is
	// behind admission. An error has to come before any part of the answer.
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
		e := &admitting{Engine: engine, api: a, request: c.r, arrived: exchangeOf(c.r.Context()).arrived}
		defer e.giveBack()
		return x.Serve(paced{c.w, e}, c.r, e)
	}
}

// paced writes an adapter's answer in pieces, so that a slow reader is noticed.
type paced struct {
	http.ResponseWriter
	of *admitting
}

func (p paced) Write(text []byte) (int, error) {
	if err := p.of.api.room.send(p.ResponseWriter, text, p.of.room(), false); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Unwrap lets http.ResponseController through.
func (p paced) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// WriteJSON answers with JSON, for adapters.
func WriteJSON(w http.ResponseWriter, body any) error {
	var b bytes.Buffer
	if err := encode(&b, body); err != nil {
		return err
	}
	if h := w.Header(); h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	write(w, http.StatusOK, typeJSON, b.Bytes())
	return nil
}

// admitting is an engine behind admission. Its answers take room until the request has
// been answered. It may be asked by several goroutines for one request.
type admitting struct {
	Engine
	api     *API
	request *http.Request
	arrived time.Time

	mu     sync.Mutex
	shares []share
	ended  bool
}

func (e *admitting) Search(ctx context.Context, r search.Request) (search.Response, error) {
	d := e.Defaults()
	place, err := e.api.options.Admission.Admit(costOf([]search.Request{r}, 1, d), e.arrived.Add(timeoutOf(r, d)))
	if err != nil {
		return search.Response{}, e.api.refusedBy(err)
	}
	defer place.Leave()
	ctx = search.WithRoom(search.Arrived(ctx, e.arrived), func(ctx context.Context, bytes int) error {
		took, err := e.api.roomFor(ctx, e.request, place, bytes)
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.shares = append(e.shares, took); e.ended {
			e.empty()
		}
		return err
	})
	response, err := e.Engine.Search(ctx, r)
	return e.api.withoutStages(e.request.Context(), response), err
}

// room is what the answers have taken.
func (e *admitting) room() (bytes int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.shares {
		bytes += s.bytes
	}
	return bytes
}

// giveBack ends the request.
func (e *admitting) giveBack() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	e.empty()
}

// empty is called with mu held.
func (e *admitting) empty() {
	for _, s := range e.shares {
		e.api.room.giveBack(s)
	}
	e.shares = nil
}

func (e *admitting) Embed(ctx context.Context, r search.EmbedRequest) (search.EmbedResponse, error) {
	place, err := e.api.options.Admission.Hold(costOfTexts(len(r.Input)))
	if err != nil {
		return search.EmbedResponse{}, e.api.refusedBy(err)
	}
	defer place.Leave()
	return e.Engine.Embed(ctx, r)
}

func (e *admitting) Rerank(ctx context.Context, r search.RerankRequest) (search.RerankResponse, error) {
	place, err := e.api.options.Admission.Hold(costOfTexts(len(r.Texts)))
	if err != nil {
		return search.RerankResponse{}, e.api.refusedBy(err)
	}
	defer place.Leave()
	return e.Engine.Rerank(ctx, r)
}
