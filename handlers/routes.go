package handlers

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
)

// route is one operation of the document and what answers it.
type route struct {
	id     string // operationId in openapi.yaml, which says everything else of it
	handle func(*call) error
}

// routes lists everything that programs are served, in the order of the reference
// page.
func (a *API) routes() []route {
	return []route{
		{"searchPassages", a.postSearch},
		{"searchSimply", a.getSearch},
		{"searchBatch", a.postBatch},
		{"fuseCandidates", serveJSON(postFuse)},
		{"embedTexts", a.postEmbed},
		{"passage", a.getPassage},
		{"putPassage", a.putPassage},
		{"deletePassage", a.deletePassage},
		{"passages", a.getPassages},
		{"uploadPassages", a.postPassages},
		{"deletePassages", serveJSON(a.deletePassages)},
		{"experts", serveJSON(a.getExperts)},
		{"expert", serveJSON(a.getExpert)},
		{"limits", serveJSON(a.getLimits)},
		{"snapshot", serveJSON(a.postSnapshot)},
		{"snapshots", serveJSON(a.getSnapshots)},
		{"removeSnapshot", serveJSON(a.deleteSnapshot)},
		{"addExpert", serveJSON(a.postExpert)},
		{"removeExpert", serveJSON(a.deleteExpert)},
		{"jobs", serveJSON(a.getJobs)},
		{"job", serveJSON(a.getJob)},
		{"cancelJob", serveJSON(a.deleteJob)},
		{"livez", serveJSON(a.getLive)},
		{"readyz", serveJSON(a.getReady)},
		{"startupz", serveJSON(a.getStarted)},
		{"metrics", a.getMetrics},
		{"openapiJSON", getOpenAPI(typeJSON)},
		{"openapiYAML", getOpenAPI(typeYAML)},
	}
}

// route builds the router. GET answers HEAD too; OPTIONS says what a path has.
func (a *API) route() (http.Handler, error) {
	methods := map[string][]string{} // by pattern
	router := chi.NewRouter()
	add := func(o operation, handle func(*call) error) {
		// A passage's id is the rest of the path, since ids may have slashes
		// (wiki/42); written as %2F they arrive here too.
		pattern := strings.Replace(o.path, "passages/{id}", "passages/*", 1)
		served := []string{o.method}
		if o.method == http.MethodGet {
			served = append(served, http.MethodHead)
		}
		for _, method := range served {
			router.Method(method, pattern, a.serve(&o, handle))
		}
		methods[pattern] = append(methods[pattern], served...)
	}
	for _, r := range a.routes() {
		o, ok := theDocument().operations[r.id]
		if !ok {
			return nil, fmt.Errorf("handlers: openapi.yaml does not describe %s", r.id)
		}
		open := *o
		if r.id == "metrics" && a.options.OpenMetrics || strings.HasPrefix(r.id, "openapi") && a.options.OpenDocs {
			open.scope = public
		}
		add(open, r.handle)
	}
	for i := range a.options.Adapters {
		x := &a.options.Adapters[i]
		add(x.operation(), a.adapted(x))
	}
	shown, err := pages()
	if err != nil {
		return nil, err
	}
	for _, p := range shown {
		o := operation{method: http.MethodGet, path: p.path, produces: []string{p.contentType}, scope: anyKey}
		if a.options.OpenDocs {
			o.scope = public
		}
		add(o, p.serve)
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
		writeProblem(w, r, newProblem("no_such_path", fmt.Sprintf("There is no %s; /docs lists what there is.", quoted(r.URL.Path))))
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
		p := newProblem("method_not_allowed", fmt.Sprintf("%s does not take %s; it takes %s.", quoted(r.URL.Path), quoted(r.Method), allowed))
		p.allow = allowed
		writeProblem(w, r, p)
	})
	return router, nil
}

// routePath is the path as the router matches it: escaped, where the escaping
// matters.
func routePath(r *http.Request) string {
	if r.URL.RawPath != "" {
		return r.URL.RawPath
	}
	return r.URL.Path
}

// serve is the way of every request to its route: may the caller, does it take what
// is produced, is its body of a type that is taken, are its parameters known.
func (a *API) serve(o *operation, handle func(*call) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		exchangeOf(r.Context()).route = o.path
		defer a.release(r.Context())
		c := &call{api: a, operation: o, w: w, r: r, status: http.StatusOK}
		if err := c.check(); err != nil {
			writeProblem(w, r, problemOf(r.Context(), err))
		} else if err := handle(c); err != nil {
			writeProblem(w, r, problemOf(r.Context(), err))
		}
	})
}
