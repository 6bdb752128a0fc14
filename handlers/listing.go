package handlers

import (
	"encoding/json"
	"fmt"
	"net/http"

	"example.org/conclave/internal/corpus"
)

// PassageList is the answer of GET /v1/passages.
type PassageList struct {
	Passages []corpus.Passage `json:"passages"`
	Next     string           `json:"next,omitempty"`
}

// listLimit is how many passages are listed when nobody says.
const listLimit = 100

// getPassages answers GET /v1/passages.
func (a *API) getPassages(c *call) error {
	engine, err := c.engine()
	if err != nil {
		return err
	}
	most := engine.Limits().K
	limit := min(listLimit, most)
	if given, ok := c.query["limit"].(json.Number); ok {
		n, err := given.Int64()
		if err != nil || n < 1 || n > int64(most) {
			detail := fmt.Sprintf("has to be from 1 to %d", most)
			return newProblem(
				"out_of_range",
				fmt.Sprintf("limit is %s; it %s.", given, detail),
				ProblemField{Pointer: "/limit", Parameter: "limit", Detail: detail},
			)
		}
		limit = int(n)
	}
	after, _ := c.query["after"].(string)
	passages, next, err := engine.List(c.r.Context(), after, limit)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, PassageList{Passages: passages, Next: next})
}
