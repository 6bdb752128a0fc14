package handlers

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"conclave/search"
)

// postSearch answers POST /v1/search.
func (a *API) postSearch(w http.ResponseWriter, r *http.Request) error {
	engine, err := a.loaded(r)
	if err != nil {
		return err
	}
	if p := a.crowded(); p != nil {
		return p
	}
	body, err := a.readJSON(w, r)
	if err != nil {
		return err
	}
	request, p := a.searchRequest(engine.Limits(), body, maxViolations)
	if p != nil {
		return p
	}
	return a.search(w, r, engine, request)
}

// getSearch answers GET /v1/search.
func (a *API) getSearch(w http.ResponseWriter, r *http.Request) error {
	engine, err := a.loaded(r)
	if err != nil {
		return err
	}
	if p := a.crowded(); p != nil {
		return p
	}
	body, p := queryBody(a.document.Components.Schemas, searchSchema(a.document.Components.Schemas), r.URL.RawQuery)
	if p != nil {
		return p
	}
	request, p := a.searchRequest(engine.Limits(), body, maxViolations)
	if p != nil {
		return asParameters(p)
	}
	if err := a.search(w, r, engine, request); err != nil {
		return asParameters(problemOf(r.Context(), err))
	}
	return nil
}

// searchRequest makes a request of a parsed body, and tells at most so many of
// its mistakes.
func (a *API) searchRequest(limits search.Limits, body any, mistakes int) (search.Request, *Problem) {
	registry := a.document.Components.Schemas
	decoded, p := decode[searchBody](registry, within(limits, searchSchema(registry)), body, mistakes)
	if p != nil {
		return search.Request{}, p
	}
	if len(decoded.Question) > limits.QuestionBytes {
		return decoded.request(), nil // which the engine refuses, without looking at it
	}
	if p := emptyQuestion(decoded.Question, "/question"); p != nil {
		return search.Request{}, p
	}
	return decoded.request(), nil
}

func (a *API) search(w http.ResponseWriter, r *http.Request, engine Engine, request search.Request) error {
	x := exchangeOf(r.Context())
	x.question = request.Question
	d := engine.Defaults()
	timeout := d.Timeout
	if request.TimeoutMS > 0 {
		timeout = time.Duration(request.TimeoutMS) * time.Millisecond
	}
	end := x.arrived.Add(timeout)
	if p := a.letIn(r.Context(), costOf([]search.Request{request}, 1, d), end); p != nil {
		return p
	}
	response, err := engine.Search(search.Arrived(r.Context(), x.arrived), request)
	if err != nil {
		return err
	}
	response.RequestID = x.requestID
	x.note(slog.String("fusion", response.Fusion), slog.Uint64("generation", response.Generation),
		slog.Int("results", len(response.Results)), slog.Float64("search_ms", response.TookMS))
	if len(response.Degraded) > 0 {
		x.note(slog.Any("degraded", response.Degraded))
	}
	var text bytes.Buffer
	encoding, cancel := context.WithDeadline(r.Context(), end)
	defer cancel()
	if err := a.encodeInTurn(encoding, &text, response); err != nil {
		return err
	}
	w.Header().Set("Server-Timing", serverTiming(response))
	w.Header().Set("Cache-Control", "no-store")
	write(w, typeJSON, text.Bytes())
	return nil
}

// serverTiming is what the stages took, in the form that browsers' developer
// tools draw (W3C Server Timing): encode-wiki;dur=1.6.
func serverTiming(r search.Response) string {
	var parts []string
	for _, s := range r.Sources {
		for _, stage := range []struct {
			name string
			took float64
		}{{"encode", s.Took.Encode}, {"search", s.Took.Search}, {"confidence", s.Took.Confidence}} {
			if stage.took > 0 {
				parts = append(parts, fmt.Sprintf("%s-%s;dur=%.3f", stage.name, token(s.Name), stage.took))
			}
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("total;dur=%.3f", r.TookMS)), ", ")
}

// token makes a name fit for a header, where names are ASCII.
func token(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(idLetters+".", r) {
			return r
		}
		return '_'
	}, name)
}
