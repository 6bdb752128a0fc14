package handlers

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/reply"
)

// postSearch answers POST /v1/search with the response to the search in the body (searchCollections).
func (a *API) postSearch(c *call) error { return a.searchCollections(c, c.readJSON) }

// mayNameCollections reports whether the body of a request is where it says which collections are searched: the route
// allows that, the server has several, and the path names none. It does not read the body.
func (c *call) mayNameCollections() bool {
	return c.operation.Choosing && c.api.options.Collections != nil && collectionInPath(c.r.Context()) == ""
}

// searchCollections answers GET or POST /v1/search, or a search of one collection. If the server has several and the
// path names none, it searches those that the body names, otherwise the call's own collection. read parses the body; it
// is called once at most. Errors are those of read, or the *schema.Problem of a request that cannot be answered.
func (a *API) searchCollections(c *call, read func() (any, error)) error {
	if !c.mayNameCollections() {
		return a.searchOwnCollection(c, read)
	}
	body, err := read()
	if err != nil {
		return err
	}
	request, err := c.decodeSearch(a.options.Limits, body)
	if err != nil {
		return err
	}
	names, p := takeCollections(&request)
	if p != nil {
		return p
	}
	if err := c.openCollections(names); err != nil {
		return err
	}
	engine, err := c.admittedEngine()
	if err != nil {
		return err
	}
	return c.api.answerSearch(c, engine, request)
}

// mostJoined is the most collections that one search may be over.
const mostJoined = 32

// takeCollections sets r.Collections to nil and returns the names that it had, each once; nil if it was nil. It returns
// a problem if there are none in it or more than mostJoined.
func takeCollections(r *search.Request) (names []string, p *schema.Problem) {
	if r.Collections == nil {
		return nil, nil
	}
	for _, name := range r.Collections {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	r.Collections = nil
	if len(names) == 0 || len(names) > mostJoined {
		return nil, tooManyCollections(len(names))
	}
	return names, nil
}

// collectionCountField returns the field of a problem that says how many names of collections a search may have.
func collectionCountField() schema.ProblemField {
	return schema.ProblemField{Pointer: "/collections", Detail: "has to be a list of 1 to 32 names"}
}

// tooManyCollections returns the problem of a search that names n collections, which is not from 1 to mostJoined.
func tooManyCollections(n int) *schema.Problem {
	return schema.NewProblem("out_of_range",
		fmt.Sprintf("There are %d names in collections: it has to be from 1 to %d.", n, mostJoined), collectionCountField())
}

// getSearch answers GET /v1/search with the response to the search in the query string (searchCollections). Problems
// name the query's parameters.
func (a *API) getSearch(c *call) error {
	body := map[string]any{}
	filter, _ := c.query[schema.FilterParameter].(map[string]any)
	if filter == nil {
		filter = map[string]any{}
	}
	for name, value := range c.query {
		switch name {
		case schema.QuestionParameter:
			splitTyped(body, value, c.query)
		case "tags_all", "tags_any", "documents":
			if _, given := filter[name]; given {
				return schema.NewProblem(
					"invalid_query", fmt.Sprintf("%s stands beside the filter and in it: leave out one.", name),
					schema.ProblemField{Pointer: "/" + name, Parameter: name, Detail: "is given twice"},
				)
			}
			filter[name], body["filter"] = value, filter
		case "must", "must_not":
			if _, given := body[name]; !given { // see splitTyped
				body[name] = value
			}
		default:
			body[name] = value
		}
	}
	if err := a.searchCollections(c, func() (any, error) { return body, nil }); err != nil {
		return schema.AsParameters(problemOf(c.r.Context(), err))
	}
	return nil
}

// splitTyped sets body["question"], and body["must"] and body["must_not"], from a question as a person typed it
// (ask.Typed): phrases in quotes go to must, words after a minus to must_not, after those of the parameters in query,
// and the rest is the question. What is not a string becomes the question as it is, for the check of the body to
// report.
func splitTyped(body map[string]any, typed any, query map[string]any) {
	text, ok := typed.(string)
	if !ok {
		body["question"] = typed
		return
	}
	question, must, mustNot := ask.Typed(text)
	body["question"] = question
	for name, words := range map[string][]string{"must": must, "must_not": mustNot} {
		list, _ := query[name].([]any)
		list = slices.Clone(list)
		for _, word := range words {
			list = append(list, word)
		}
		if len(list) > 0 {
			body[name] = list
		}
	}
}

// searchRequest returns the search that a parsed body asks for. It returns a problem that lists up to `mistakes`
// mistakes if the body violates the schema or the limits, or that says that the question is empty. Only a request with
// a single question within the limit is checked for that; the engine checks the others.
func searchRequest(limits search.Limits, body any, mistakes int) (request search.Request, p *schema.Problem) {
	limited := withLimits(limits, schema.APIDocument().Schemas["SearchRequest"])
	if object, _ := body.(map[string]any); object["messages"] == nil {
		limited.Required = []string{"question"}
	}
	if p := schema.Decode(limited, body, mistakes, &request); p != nil {
		return request, p
	}
	if len(request.Question) > limits.QuestionBytes || len(request.Messages) > 0 {
		return request, nil // which the engine looks at
	}
	if !strings.ContainsFunc(request.Question, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r)
	}) {
		return request, schema.NewProblem(
			"empty_question", "The question has nothing in it to search for.",
			schema.ProblemField{Pointer: "/question", Detail: "is empty"},
		)
	}
	return request, nil
}

// withLimits returns a copy of a search's schema in which k, candidates and timeout_ms have the limits in force as
// their maxima, so that an error can name them. s is not changed.
func withLimits(limits search.Limits, s *schema.Schema) *schema.Schema {
	limited := *s
	limited.Properties = maps.Clone(s.Properties)
	for name, most := range map[string]int{"k": limits.K, "candidates": limits.Candidates,
		"timeout_ms": int(limits.Timeout.Milliseconds())} {
		property := *limited.Properties[name]
		high := float64(most)
		property.Maximum = &high
		limited.Properties[name] = &property
	}
	return &limited
}

// decodeSearch returns the search that a parsed body asks for (searchRequest). A large body waits for a processor
// (computeBody). The error is a *schema.Problem that lists the mistakes, or the context's.
func (c *call) decodeSearch(limits search.Limits, body any) (request search.Request, err error) {
	err = c.computeBody(func() error {
		var p *schema.Problem
		request, p = searchRequest(limits, body, schema.MaxViolations)
		if p != nil {
			return p
		}
		return nil
	})
	return request, err
}

// searchOwnCollection answers a search of the call's collection. read returns the parsed body. Errors are those of
// read, or the *schema.Problem of a request that cannot be answered.
func (a *API) searchOwnCollection(c *call, read func() (any, error)) error {
	engine, err := c.admittedEngine()
	if err != nil {
		return err
	}
	body, err := read()
	if err != nil {
		return err
	}
	request, err := c.decodeSearch(engine.Limits(), body)
	if err != nil {
		return err
	}
	if p := a.ownCollections(&request); p != nil {
		return p
	}
	return a.answerSearch(c, engine, request)
}

// answerSearch asks the engine and sends its response: as server-sent events if the caller prefers these, else as JSON.
// It returns an error only if nothing was sent.
func (a *API) answerSearch(c *call, engine *admittedEngine, request search.Request) (err error) {
	x := front.ExchangeOf(c.r.Context())
	x.Question = request.Question
	c.limitTime(x.Arrived.Add(timeoutOf(request, engine)))
	var response reply.Response
	streamed := wantsEvents(c.r)
	if streamed {
		response, err = (&eventStream{c: c, ctx: c.r.Context()}).streamSearch(engine, request)
	} else {
		response, err = engine.Search(c.r.Context(), search.Caller{}, request)
	}
	if err != nil {
		return err
	}
	if streamed && x.Code != "" {
		return nil // it ended with a problem, or its caller has gone
	}
	response.RequestID = x.RequestID
	x.Note(slog.String("fusion", response.Fusion), slog.Uint64("generation", response.Generation),
		slog.Int("results", len(response.Results)), slog.Float64("search_ms", response.TookMS))
	if len(response.Degraded) > 0 {
		x.Note(slog.Any("degraded", response.Degraded))
	}
	if streamed {
		return nil
	}
	c.w.Header().Set("Server-Timing", serverTiming(response))
	return c.respond(http.StatusOK, response)
}

// ownCollections removes the names of collections from a request to a server of one collection. It returns a problem if
// they name another than that one. Otherwise it returns nil, as on a server of several.
func (a *API) ownCollections(r *search.Request) *schema.Problem {
	if a.options.Collections != nil {
		return nil
	}
	for _, name := range r.Collections {
		if name != a.options.Name {
			return unknownCollection(name)
		}
	}
	r.Collections = nil
	return nil
}

// serverTiming returns the times of a response's stages as a Server-Timing header (W3C), such as encode-wiki;dur=1.6.
func serverTiming(r reply.Response) string {
	var parts []string
	for _, s := range r.Sources {
		for _, stage := range []struct {
			name string
			took float64
		}{{"encode", s.Took.Encode}, {"search", s.Took.Search}, {"confidence", s.Took.Confidence}} {
			if stage.took > 0 {
				parts = append(parts, fmt.Sprintf("%s-%s;dur=%.3f", stage.name, headerToken(s.Name), stage.took))
			}
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("total;dur=%.3f", r.TookMS)), ", ")
}

// headerToken returns a name with every character that a header's token cannot have replaced by an underscore.
func headerToken(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(wording.NameLetters+".", r) {
			return r
		}
		return '_'
	}, name)
}

// postFuse answers POST /v1/fuse with the fused ranking of the candidates in the body, which needs no collection. It
// returns a problem if the request cannot be fused (search.Fuse).
func (a *API) postFuse(c *call, r search.FuseRequest) (search.FuseResponse, error) {
	var out search.FuseResponse
	err := c.compute(func() (err error) {
		out, err = search.Fuse(r)
		return err
	})
	return out, err
}
