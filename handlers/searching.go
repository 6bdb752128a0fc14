package handlers

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"conclave/search"
)

// postSearch answers POST /v1/search.
func (a *API) postSearch(w http.ResponseWriter, r *http.Request) error {
	engine, err := a.loaded(r)
	if err != nil {
		return err
	}
	raw, err := a.readBody(w, r)
	if err != nil {
		return err
	}
	body, p := parseJSON(raw)
	if p != nil {
		return p
	}
	request, p := a.searchRequest(engine.Limits(), body)
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
	body, p := queryBody(a.document.Components.Schemas, searchSchema(a.document.Components.Schemas), r.URL.RawQuery)
	if p != nil {
		return p
	}
	request, p := a.searchRequest(engine.Limits(), body)
	if p != nil {
		return asParameters(p)
	}
	if err := a.search(w, r, engine, request); err != nil {
		return asParameters(problemOf(r.Context(), err))
	}
	return nil
}

// searchRequest makes a request of a parsed body.
func (a *API) searchRequest(limits search.Limits, body any) (search.Request, *Problem) {
	registry := a.document.Components.Schemas
	if object, ok := body.(map[string]any); ok && object["question"] == nil {
		if _, given := object["question"]; !given {
			// A question that is not there is the commonest empty question.
			object["question"] = ""
		}
	}
	decoded, p := decode[searchBody](registry, within(limits, searchSchema(registry)), body)
	if p != nil {
		return search.Request{}, p
	}
	if p := emptyQuestion(decoded.Question, "/question"); p != nil {
		return search.Request{}, p
	}
	return decoded.request(), nil
}

func (a *API) search(w http.ResponseWriter, r *http.Request, engine Engine, request search.Request) error {
	x := exchangeOf(r.Context())
	x.question = request.Question
	response, err := engine.Search(r.Context(), request)
	if err != nil {
		return err
	}
	response.RequestID = x.requestID
	x.note(slog.String("fusion", response.Fusion), slog.Uint64("generation", response.Generation),
		slog.Int("results", len(response.Results)), slog.Float64("search_ms", response.TookMS))
	if len(response.Degraded) > 0 {
		x.note(slog.Any("degraded", response.Degraded))
	}
	w.Header().Set("Server-Timing", serverTiming(response))
	return respond(w, response)
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

// batchAnswer is one answer of a batch: a search response, or a problem.
type batchAnswer struct {
	response *search.Response
	problem  *Problem
}

// postBatch answers POST /v1/search/batch.
func (a *API) postBatch(w http.ResponseWriter, r *http.Request) error {
	engine, err := a.loaded(r)
	if err != nil {
		return err
	}
	raw, err := a.readBody(w, r)
	if err != nil {
		return err
	}
	body, p := parseJSON(raw)
	if p != nil {
		return p
	}
	items, p := a.batchItems(body)
	if p != nil {
		return p
	}
	if most := engine.Limits().Batch; len(items) > most {
		return newProblem("batch_too_large", fmt.Sprintf("There are %d searches; at most %d are taken in one request.", len(items), most),
			ProblemField{Pointer: "/searches", Detail: fmt.Sprintf("has %d items", len(items))})
	}
	answers, err := a.answerBatch(r.Context(), engine, items)
	if err != nil {
		return err
	}
	x := exchangeOf(r.Context())
	failed := 0
	out := make([]any, len(answers))
	for i := range answers {
		if p := answers[i].problem; p != nil {
			failed++
			inBatch(p, i)
			p.RequestID = x.requestID
			out[i] = p
			continue
		}
		answers[i].response.RequestID = x.requestID
		out[i] = answers[i].response
	}
	x.note(slog.Int("searches", len(items)), slog.Int("failed", failed))
	return respond(w, map[string]any{"answers": out})
}

// batchItems is the list of searches of a batch, each still as parsed JSON.
func (a *API) batchItems(body any) ([]any, *Problem) {
	registry := a.document.Components.Schemas
	shape := *registry.SchemaFromRef(schemaRef("BatchRequest"))
	properties := map[string]*schema{}
	for name, s := range shape.Properties {
		property := *s
		if name == "searches" {
			property.Items = &schema{} // each is checked by itself
		}
		properties[name] = &property
	}
	shape.Properties = properties
	c := conform{registry: registry}
	c.check(&shape, body, "")
	if p := c.problem(); p != nil {
		return nil, p
	}
	items, _ := body.(map[string]any)["searches"].([]any)
	return items, nil
}

func (a *API) answerBatch(ctx context.Context, engine Engine, items []any) ([]batchAnswer, error) {
	answers := make([]batchAnswer, len(items))
	var requests []search.Request
	var places []int // of requests, in items
	for i, item := range items {
		request, p := a.searchRequest(engine.Limits(), item)
		if p != nil {
			answers[i].problem = p
			continue
		}
		requests = append(requests, request)
		places = append(places, i)
	}
	if len(requests) == 0 {
		return answers, nil
	}
	found, err := engine.Batch(ctx, requests)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err // the caller has gone
	}
	for n, answer := range found {
		if answer.Err != nil {
			p := *problemOf(ctx, answer.Err)
			answers[places[n]].problem = &p
			exchangeOf(ctx).cause = p.cause
			continue
		}
		response := answer.Response
		answers[places[n]].response = &response
	}
	return answers, nil
}

// inBatch makes the pointers of an item's problem point into the batch.
func inBatch(p *Problem, item int) {
	for i := range p.Errors {
		p.Errors[i].Pointer = "/searches/" + strconv.Itoa(item) + p.Errors[i].Pointer
	}
}
