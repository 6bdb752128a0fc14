package handlers

import (
	"fmt"
	"math"
	"sync"
	"time"

	"example.org/conclave/handlers/schema"
)

// pace lets so many requests through in a second, on the mean, and up to a second's at once. Its zero
// value lets all through.
type pace struct {
	mu   sync.Mutex
	rate float64 // of requests a second; 0: no bound
	left float64
	at   time.Time // when left was as it is
}

// set sets how many requests a second there may be; 0: any number.
func (p *pace) set(rate float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate = rate
	p.left = max(rate, 1)
	p.at = time.Time{}
}

// take takes one request, or returns when there may be the next.
func (p *pace) take(now time.Time) (wait time.Duration, rate float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rate <= 0 {
		return 0, 0
	}
	if !p.at.IsZero() {
		p.left = min(p.left+p.rate*now.Sub(p.at).Seconds(), max(p.rate, 1))
	}
	p.at = now
	if p.left < 1 {
		return time.Duration((1 - p.left) / p.rate * float64(time.Second)), p.rate
	}
	p.left--
	return 0, p.rate
}

// paced returns a problem where a request comes too soon after others of whom, its key or its
// collection.
func (a *API) paced(p *pace, whom string) *schema.Problem {
	wait, rate := p.take(a.options.Now())
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
func (k *Collection) Pace(requestsASecond float64) { k.pace.set(requestsASecond) }
