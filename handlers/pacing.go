package handlers

import (
	"fmt"
	"math"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
)

// paced returns a problem where a request comes too soon after others of whom, its key or its
// collection.
func (a *API) paced(p *front.Pace, whom string) *schema.Problem {
	wait, rate := p.Take(a.options.Now())
	if wait <= 0 {
		return nil
	}
	problem := schema.NewProblem(
		"rate_limited",
		fmt.Sprintf("At most %v requests in a second are served to %s.", rate, whom),
	)
	problem.RetryAfter = int(math.Ceil(wait.Seconds()))
	return problem
}

// Pace bounds how many requests to the collection are answered in a second; 0: no bound.
func (k *Collection) Pace(requestsASecond float64) { k.pace.Set(requestsASecond) }
