package handlers

import (
	"context"
	"encoding/json"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/identity"
	"example.org/conclave/search/storage"
)

// queryCondition returns the filter of the query string; nil: there is none. It returns a problem if the filter is
// invalid.
func (c *call) queryCondition() (*conditions.Condition, error) {
	parsed, given := c.query[schema.FilterParameter]
	if !given {
		return nil, nil
	}
	out := &conditions.Condition{}
	if err := schema.Fill(parsed, out); err != nil {
		return nil, schema.NewProblem("invalid_query", "The filter could not be read.").Because(err)
	}
	if err := (storage.Filter{Condition: *out}).Check(); err != nil {
		return nil, schema.AsParameters(problemOf(c.r.Context(), err))
	}
	return out, nil
}

// restrictToQuery returns the request's context restricted to the passages that match the query's filter. It returns a
// problem if the filter's values do not fit the types of the fields, which an empty list would not show.
func (c *call) restrictToQuery(engine *admittedEngine) (context.Context, error) {
	ctx := c.r.Context()
	only, err := c.queryCondition()
	if err != nil || only.Empty() {
		return ctx, err
	}
	if _, err := engine.Count(ctx, storage.Filter{Condition: *only}); err != nil {
		return ctx, schema.AsParameters(problemOf(ctx, err))
	}
	return identity.Restrict(ctx, only), nil
}

// asJSON returns a parsed parameter as JSON text.
func asJSON(value any) string {
	text, _ := json.Marshal(value) // it came from JSON
	return string(text)
}
