package handlers

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"conclave/jobs"
	"conclave/search"
)

// deletePassages answers DELETE /v1/passages: it asks for a job that deletes the
// passages that have tags.
func (a *API) deletePassages(w http.ResponseWriter, r *http.Request) error {
	engine, err := a.loaded(r)
	if err != nil {
		return err
	}
	registry := a.document.Components.Schemas
	of := searchSchema(registry).Properties[filterField]
	body, p := queryBody(registry, &schema{Properties: map[string]*schema{filterField: of}}, r.URL.RawQuery)
	if p != nil {
		return p
	}
	lists, _ := body[filterField].(map[string]any)
	if len(lists) == 0 {
		return newProblem("missing_parameter", "Say which passages to delete, by tags_all, tags_any or both: without a filter it would be all of them.")
	}
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		// It asks for nothing, and what was meant to narrow would not.
		if tags, ok := lists[name].([]any); ok && len(tags) == 0 {
			return newProblem("empty_tag", fmt.Sprintf("%s is empty: name a tag, or leave it out.", name),
				ProblemField{Pointer: "/" + name, Parameter: name, Detail: "is empty"})
		}
	}
	filter, p := decode[search.Filter](registry, registry.SchemaFromRef(schemaRef("Filter")), lists, maxViolations)
	if p != nil {
		return asParameters(p)
	}
	if err := filter.Check(engine.Limits()); err != nil {
		return asParameters(problemOf(r.Context(), err))
	}
	return a.submit(w, jobs.Request{Kind: jobs.DeleteTagged, Name: queryOf(filter), TagsAll: filter.TagsAll, TagsAny: filter.TagsAny})
}

// queryOf is a filter as a query string. Tags that come from one have no commas.
func queryOf(f search.Filter) string {
	values := url.Values{}
	for name, tags := range map[string][]string{"tags_all": f.TagsAll, "tags_any": f.TagsAny} {
		if len(tags) > 0 {
			values.Set(name, strings.Join(tags, ","))
		}
	}
	return strings.ReplaceAll(values.Encode(), "%2C", ",")
}
