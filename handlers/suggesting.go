package handlers

import (
	"net/http"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/search"
	"example.org/conclave/search/lookup"
)

// SuggestionList is the answer of GET /v1/suggest.
type SuggestionList struct {
	Suggestions []lookup.Suggestion `json:"suggestions"`
	// Collecting says that titles are still being collected in the background: a later request has suggestions.
	Collecting bool `json:"collecting,omitempty"`
}

// getSuggestions answers GET /v1/suggest with completions of what the query's q begins, out of the titles and headings
// that the caller may see, and of questions that others with the same rights asked. It returns a problem for an
// impossible query, and if they cannot be read.
func (a *API) getSuggestions(c *call) error {
	engine, err := c.admittedEngine()
	if err != nil {
		return err
	}
	typed, _ := c.query["q"].(string)
	limit, err := c.listLimit(lookup.UsualSuggestions, lookup.MostSuggestions)
	if err != nil {
		return err
	}
	q := lookup.SuggestRequest{Text: typed, Limit: limit}
	found, collecting, err := engine.Suggest(c.r.Context(), search.Caller{}, q)
	if err != nil {
		return schema.AsParameters(problemOf(c.r.Context(), err))
	}
	return c.respond(http.StatusOK, SuggestionList{
		Suggestions: c.api.offered(c.r.Context(), typed, found, limit), Collecting: collecting,
	})
}
