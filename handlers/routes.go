package handlers

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/wording"
)

// route is an operation of openapi.yaml with its cost and its handler.
type route struct {
	id     string // operationId in openapi.yaml, which says everything else of it
	cost   front.Cost
	handle func(*API, *call) error
}

// namesCollections reports whether a route's body, or its parameters, may name the collections that are searched.
func namesCollections(id string) bool {
	return id == "searchPassages" || id == schema.SimpleSearch || id == "searchBatch"
}

// routes returns the routes of the API, in the order of the reference page, each with the id of its operation in
// openapi.yaml, its cost and its handler.
func routes() []route {
	answer := front.Answering(0)
	return []route{
		{"searchPassages", front.Searching(0), (*API).postSearch},
		{"searchSimply", front.Searching(0), (*API).getSearch},
		{"searchBatch", front.AnsweringInParts(), (*API).postBatch},
		{"suggest", answer, (*API).getSuggestions},
		{"fuseCandidates", answer, serveJSON((*API).postFuse)},
		{"embedTexts", answer, (*API).postEmbed},
		{"passage", answer, (*API).getPassage},
		{"putPassage", front.Storing(), (*API).putPassage},
		{"deletePassage", front.Storing(), (*API).deletePassage},
		{"passages", answer, (*API).getPassages},
		{"uploadPassages", front.Storing(), (*API).postPassages},
		{"deletePassages", answer, serveJSON((*API).deletePassages)},
		{"documents", answer, (*API).getDocuments},
		{"document", answer, (*API).getDocument},
		{"original", answer, (*API).getOriginal},
		{"uploadDocuments", front.Storing(), (*API).postDocuments},
		{"putDocument", front.Storing(), (*API).putDocument},
		{"deleteDocument", front.Storing(), (*API).deleteDocument},
		{"judge", front.Storing(), serveJSON((*API).postJudgment)},
		{"judgments", answer, serveJSON((*API).getJudgments)},
		{"judgedQuestions", answer, (*API).getJudgedQuestions},
		{"experts", answer, serveJSON((*API).getExperts)},
		{"expert", answer, serveJSON((*API).getExpert)},
		{"collectionReadyz", answer, serveJSON((*API).getCollectionReady)},
		{"limits", answer, serveJSON((*API).getLimits)},
		{"settings", answer, serveJSON((*API).getSettings)},
		{"putSettings", front.Storing(), serveJSON((*API).putSettings)},
		{"snapshot", answer, serveJSON((*API).postSnapshot)},
		{"snapshots", answer, serveJSON((*API).getSnapshots)},
		{"removeSnapshot", answer, serveJSON((*API).deleteSnapshot)},
		{"unanswered", answer, serveJSON((*API).getUnanswered)},
		{"removeUnanswered", front.Storing(), serveJSON((*API).deleteUnanswered)},
		{"answered", answer, serveJSON((*API).getAnswered)},
		{"removeAnswered", front.Storing(), serveJSON((*API).deleteAnswered)},
		{"addExpert", answer, serveJSON((*API).postExpert)},
		{"removeExpert", answer, serveJSON((*API).deleteExpert)},
		{"calibrate", answer, serveJSON((*API).postCalibration)},
		{"evaluate", answer, serveJSON((*API).postEvaluation)},
		{"jobs", answer, serveJSON((*API).getJobs)},
		{"job", answer, serveJSON((*API).getJob)},
		{"cancelJob", answer, serveJSON((*API).deleteJob)},
		{"collections", answer, serveJSON((*API).getCollections)},
		{"collection", answer, serveJSON((*API).getCollection)},
		{"createCollection", front.Storing(), serveJSON((*API).postCollection)},
		{"removeCollection", front.Storing(), serveJSON((*API).deleteCollection)},
		{"livez", front.Probing(), serveJSON((*API).getLive)},
		{"readyz", front.Probing(), serveJSON((*API).getReady)},
		{"startupz", front.Probing(), serveJSON((*API).getStarted)},
		{"metrics", front.Probing(), (*API).getMetrics},
		{"openapiJSON", answer, getOpenAPI(schema.TypeJSON)},
		{"openapiYAML", answer, getOpenAPI(schema.TypeYAML)},
	}
}

// newRouter returns the router with all routes registered. GET routes answer HEAD too; OPTIONS lists a path's methods.
// It fails if a route is not described in openapi.yaml.
func (a *API) newRouter() (chi.Router, error) {
	router := chi.NewRouter()
	for _, r := range routes() {
		o, ok := schema.APIDocument().Operations[r.id]
		if !ok {
			return nil, fmt.Errorf("handlers: openapi.yaml does not describe %s", r.id)
		}
		open := *o
		if namesCollections(r.id) && a.options.Collections != nil {
			open.Choosing, open.Search = true, true
		}
		if r.id == "metrics" && a.options.OpenMetrics || strings.HasPrefix(r.id, "openapi") && a.options.OpenDocs {
			open.Scope = schema.Public
		}
		if err := a.register(router, open, r.cost, r.handle); err != nil {
			return nil, err
		}
	}
	for i := range a.options.Adapters {
		x := &a.options.Adapters[i]
		o, err := x.documentedOperation()
		if err == nil {
			err = a.register(router, o, x.Cost, adapterRoute(x))
		}
		if err != nil {
			return nil, err
		}
	}
	shown, err := webPages()
	if err != nil {
		return nil, err
	}
	openPage := func(path, contentType string, cost front.Cost, handle func(*API, *call) error) error {
		o := schema.Operation{Method: http.MethodGet, Path: path, Produces: []string{contentType}, Scope: schema.AnyKey}
		if a.options.OpenDocs || path == front.EmbedPath {
			o.Scope = schema.Public
		}
		return a.register(router, o, cost, handle)
	}
	for _, p := range shown {
		if err := openPage(p.path, p.contentType, front.Answering(0), p.serveFile); err != nil {
			return nil, err
		}
	}
	if a.options.Guide != nil {
		if err := openPage(guideSearchPath, schema.TypeHTML, front.Searching(0), (*API).getGuideSearch); err != nil {
			return nil, err
		}
	}
	methods := map[string][]string{} // by pattern
	for _, e := range a.registrations {
		methods[e.pattern] = append(methods[e.pattern], e.method)
	}
	for pattern, allowed := range methods {
		allowed = append(allowed, http.MethodOptions)
		slices.Sort(allowed)
		methods[pattern] = allowed
		router.Method(http.MethodOptions, pattern, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			w.WriteHeader(http.StatusNoContent)
		}))
	}
	missing := func(w http.ResponseWriter, r *http.Request) {
		front.WriteProblem(
			w,
			r,
			schema.NewProblem(
				"no_such_path", fmt.Sprintf("There is no %s; /docs lists what there is.", wording.Quote(r.URL.Path)),
			),
		)
	}
	router.NotFound(missing)
	router.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		// Every pattern has OPTIONS, so that is how the path's pattern is found.
		// The router comes here with methods that HTTP does not know, too,
		// whatever the path.
		allowed := strings.Join(methods[router.Find(chi.NewRouteContext(), http.MethodOptions, routePath(r))], ", ")
		if allowed == "" {
			missing(w, r)
			return
		}
		p := schema.NewProblem(
			"method_not_allowed",
			fmt.Sprintf(
				"%s does not take %s; it takes %s.", wording.Quote(r.URL.Path), wording.Quote(r.Method), allowed,
			),
		)
		p.Allow = allowed
		front.WriteProblem(w, r, p)
	})
	return router, nil
}

// routePath returns the path as the router matches it: escaped, where the escaping
// matters.
func routePath(r *http.Request) string {
	if r.URL.RawPath != "" {
		return r.URL.RawPath
	}
	return r.URL.Path
}
