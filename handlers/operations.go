package handlers

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"
)

// operation is one method of one path. The router and the OpenAPI document are
// made of the same list, so that neither knows one that the other does not.
type operation struct {
	id, method, path string
	pattern          string // of the router, where it differs from path
	scope            Scope
	produces         []string
	takesJSON        bool
	takesLines       bool // JSON, a text a line
	writes           bool // changes the collection
	works            bool // runs models or searches, or writes: counts against the concurrency
	holds            bool // and that from the beginning; others when it is known what they cost
	handle           func(w http.ResponseWriter, r *http.Request) error
	describe         func(huma.Registry) described
}

// takes are the types of the body, the usual one first; nil for none.
func (o *operation) takes() []string {
	switch {
	case o.takesJSON:
		return []string{typeJSON}
	case o.takesLines:
		return uploadTypes()
	}
	return nil
}

// operations lists everything that is served.
func (a *API) operations() []operation {
	metricsScope, docsScope := anyKey, anyKey
	if a.openMetrics {
		metricsScope = public
	}
	if a.openDocs {
		docsScope = public
	}
	inJSON := []string{typeJSON}
	return []operation{
		{id: "search", method: http.MethodPost, path: "/v1/search", scope: ScopeSearch, produces: inJSON, takesJSON: true, works: true,
			handle: a.postSearch, describe: describeSearch},
		{id: "searchSimply", method: http.MethodGet, path: "/v1/search", scope: ScopeSearch, produces: inJSON, works: true,
			handle: a.getSearch, describe: describeSimpleSearch},
		{id: "searchBatch", method: http.MethodPost, path: "/v1/search/batch", scope: ScopeSearch, produces: inJSON, takesJSON: true, works: true,
			handle: a.postBatch, describe: describeBatch},
		{id: "embed", method: http.MethodPost, path: "/v1/embed", scope: ScopeEmbed, produces: inJSON, takesJSON: true, works: true,
			handle: a.postEmbed, describe: describeEmbed},
		// The id is the rest of the path, since ids may have slashes (wiki/42);
		// written as %2F they arrive here too.
		{id: "passage", method: http.MethodGet, path: "/v1/passages/{id}", pattern: "/v1/passages/*", scope: ScopeSearch, produces: inJSON,
			handle: a.getPassage, describe: describePassage},
		{id: "putPassage", method: http.MethodPut, path: "/v1/passages/{id}", pattern: "/v1/passages/*", scope: ScopeIngest, produces: inJSON, takesJSON: true, writes: true, works: true,
			handle: a.putPassage, describe: describePut},
		{id: "deletePassage", method: http.MethodDelete, path: "/v1/passages/{id}", pattern: "/v1/passages/*", scope: ScopeIngest, produces: inJSON, writes: true, works: true, holds: true,
			handle: a.deletePassage, describe: describeDelete},
		{id: "passages", method: http.MethodGet, path: "/v1/passages", scope: ScopeSearch, produces: inJSON, works: true, holds: true,
			handle: a.getPassages, describe: describePassages},
		{id: "uploadPassages", method: http.MethodPost, path: "/v1/passages", scope: ScopeIngest, produces: []string{typeLines}, takesLines: true, writes: true, works: true,
			handle: a.postPassages, describe: describeUpload},
		{id: "deletePassages", method: http.MethodDelete, path: "/v1/passages", scope: ScopeAdmin, produces: inJSON, writes: true,
			handle: a.deletePassages, describe: describeDeleteTagged},
		{id: "experts", method: http.MethodGet, path: "/v1/experts", scope: anyKey, produces: inJSON,
			handle: a.getExperts, describe: describeExperts},
		{id: "expert", method: http.MethodGet, path: "/v1/experts/{name}", scope: anyKey, produces: inJSON,
			handle: a.getExpert, describe: describeExpert},
		{id: "limits", method: http.MethodGet, path: "/v1/limits", scope: anyKey, produces: inJSON,
			handle: a.getLimits, describe: describeLimits},
		{id: "snapshot", method: http.MethodPost, path: "/v1/admin/snapshots", scope: ScopeAdmin, produces: inJSON, takesJSON: true, writes: true,
			handle: a.postSnapshot, describe: describeSnapshot},
		{id: "snapshots", method: http.MethodGet, path: "/v1/admin/snapshots", scope: ScopeAdmin, produces: inJSON,
			handle: a.getSnapshots, describe: describeSnapshots},
		{id: "removeSnapshot", method: http.MethodDelete, path: "/v1/admin/snapshots/{name}", scope: ScopeAdmin, produces: inJSON, writes: true,
			handle: a.deleteSnapshot, describe: describeRemoveSnapshot},
		{id: "addExpert", method: http.MethodPost, path: "/v1/admin/experts", scope: ScopeAdmin, produces: inJSON, takesJSON: true, writes: true,
			handle: a.postExpert, describe: describeAddExpert},
		{id: "removeExpert", method: http.MethodDelete, path: "/v1/admin/experts/{name}", scope: ScopeAdmin, produces: inJSON, writes: true,
			handle: a.deleteExpert, describe: describeRemoveExpert},
		{id: "jobs", method: http.MethodGet, path: "/v1/jobs", scope: ScopeAdmin, produces: inJSON, handle: a.getJobs, describe: describeJobs},
		{id: "job", method: http.MethodGet, path: "/v1/jobs/{id}", scope: ScopeAdmin, produces: inJSON, handle: a.getJob, describe: describeJob},
		{id: "cancelJob", method: http.MethodDelete, path: "/v1/jobs/{id}", scope: ScopeAdmin, produces: inJSON, handle: a.deleteJob, describe: describeCancel},
		{id: "livez", method: http.MethodGet, path: "/livez", scope: public, produces: inJSON, handle: a.getLive, describe: describeLive},
		{id: "readyz", method: http.MethodGet, path: "/readyz", scope: public, produces: inJSON, handle: a.getReady, describe: describeReady},
		{id: "startupz", method: http.MethodGet, path: "/startupz", scope: public, produces: inJSON, handle: a.getStarted, describe: describeStarted},
		{id: "metrics", method: http.MethodGet, path: "/metrics", scope: metricsScope,
			produces: []string{"text/plain", "application/openmetrics-text"}, handle: a.getMetrics, describe: describeMetrics},
		{id: "openapiJSON", method: http.MethodGet, path: "/openapi.json", scope: docsScope, produces: inJSON,
			handle: a.getOpenAPI(typeJSON), describe: describeDocument(typeJSON)},
		{id: "openapiYAML", method: http.MethodGet, path: "/openapi.yaml", scope: docsScope, produces: []string{typeYAML},
			handle: a.getOpenAPI(typeYAML), describe: describeDocument(typeYAML)},
		{id: "docs", method: http.MethodGet, path: "/docs", scope: docsScope, produces: []string{typeHTML}, handle: getPage("docs.html", typeHTML)},
		{id: "docsStyle", method: http.MethodGet, path: "/docs/docs.css", scope: docsScope, produces: []string{"text/css"}, handle: getPage("docs.css", "text/css")},
		{id: "docsScript", method: http.MethodGet, path: "/docs/docs.js", scope: docsScope, produces: []string{"text/javascript"}, handle: getPage("docs.js", "text/javascript")},
		{id: "docsIcon", method: http.MethodGet, path: "/docs/icon.svg", scope: docsScope, produces: []string{"image/svg+xml"}, handle: getPage("icon.svg", "image/svg+xml")},
		{id: "home", method: http.MethodGet, path: "/", scope: public, produces: []string{typeHTML}, handle: getHome},
	}
}

// route builds the router. GET answers HEAD too; OPTIONS says what a path has.
func (a *API) route(operations []operation) http.Handler {
	methods := map[string][]string{} // by pattern
	router := chi.NewRouter()
	for _, o := range operations {
		pattern := o.pattern
		if pattern == "" {
			pattern = o.path
		}
		h := a.serve(o)
		router.Method(o.method, pattern, h)
		methods[pattern] = append(methods[pattern], o.method)
		if o.method == http.MethodGet {
			router.Method(http.MethodHead, pattern, h)
			methods[pattern] = append(methods[pattern], http.MethodHead)
		}
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
	return router
}

// routePath is the path as the router matches it: escaped, where the escaping
// matters.
func routePath(r *http.Request) string {
	if r.URL.RawPath != "" {
		return r.URL.RawPath
	}
	return r.URL.Path
}

// serve is the way of every request to its operation: may the caller, does it
// take what is produced, is its body JSON, is there a place.
func (a *API) serve(o operation) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		exchangeOf(r.Context()).route = o.path
		defer a.release(r.Context())
		if err := a.admit(o, w, r); err != nil {
			writeProblem(w, r, problemOf(r.Context(), err))
		}
	})
}

func (a *API) admit(o operation, w http.ResponseWriter, r *http.Request) error {
	if p := a.require(r.Context(), o.scope); p != nil {
		return p
	}
	if p := acceptable(r, o.produces); p != nil {
		return p
	}
	if o.takes() != nil {
		if p := declared(r, &o); p != nil {
			return p
		}
	} else if r.ContentLength != 0 {
		return newProblem("unexpected_body", fmt.Sprintf("%s takes its parameters from the path and the query string; the body would be ignored.", r.Method))
	}
	if o.holds {
		if p := a.hold(r.Context(), 1); p != nil {
			return p
		}
	}
	return o.handle(w, r)
}
