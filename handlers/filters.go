package handlers

import (
	"context"
	"encoding/json"
	"fmt"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/identity"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/storage"
)

// filterParameter is the parameter of a query string that holds a condition as JSON.
const filterParameter = "filter"

// readJSONParameter reads a parameter whose text is JSON.
func readJSONParameter(name, text string) (any, *Problem) {
	parsed, p := parseJSON([]byte(text))
	if p == nil {
		return parsed, nil
	}
	field := ProblemField{Pointer: wording.Pointer("", name), Parameter: name, Detail: "is no JSON"}
	return nil, newProblem("invalid_query", fmt.Sprintf(
		`The parameter %s has to be JSON, percent-encoded, such as {"field":"year","gte":2024}: %s`, name, p.Detail), field)
}

// condition returns what the filter of the query string says; nil: there is none.
func (c *call) condition() (*conditions.Condition, error) {
	parsed, given := c.query[filterParameter]
	if !given {
		return nil, nil
	}
	out := &conditions.Condition{}
	if err := fill(parsed, out); err != nil {
		return nil, newProblem("invalid_query", "The filter could not be read.").because(err)
	}
	if err := (storage.Filter{Condition: *out}).Check(); err != nil {
		return nil, asParameters(problemOf(c.r.Context(), err))
	}
	return out, nil
}

// listing returns a context for listing what meets the filter of the query string. Whether its values fit is asked
// first: a list of nothing would not say so.
func (c *call) listing(engine *admittedEngine) (context.Context, error) {
	ctx := c.r.Context()
	only, err := c.condition()
	if err != nil || only.Empty() {
		return ctx, err
	}
	if _, err := engine.Count(ctx, storage.Filter{Condition: *only}); err != nil {
		return ctx, asParameters(problemOf(ctx, err))
	}
	return identity.Restrict(ctx, only), nil
}

// asJSON returns the JSON of a parameter that was parsed.
func asJSON(value any) string {
	text, _ := json.Marshal(value) // it came from JSON
	return string(text)
}
