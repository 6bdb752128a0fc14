package handlers

import (
	"fmt"
	"math"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
)

// takeFromPace takes one request from a rate limit. It returns nil, or the problem that the limit is reached (429) with
// the seconds to wait. whom names what is limited, such as the key, in the problem.
func (a *API) takeFromPace(p *front.Pace, whom string) *schema.Problem {
	wait, rate := p.Take(a.options.Now())
	if wait <= 0 {
		return nil
	}
	problem := schema.NewProblem(
		"rate_limited", fmt.Sprintf("At most %v requests in a second are served to %s.", rate, whom),
	)
	problem.RetryAfter = int(math.Ceil(wait.Seconds()))
	return problem
}

// Pace limits the requests to the collection to this many in a second; 0: no limit.
func (k *Collection) Pace(requestsASecond float64) { k.pace.Set(requestsASecond) }
