package evaluation

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"example.org/conclave/internal/questions"
	"example.org/conclave/search"
)

// Latency has percentiles of how long single requests took, one at a time, in milliseconds: in the process, without
// HTTP.
type Latency struct {
	P50       float64 `json:"p50"`
	P95       float64 `json:"p95"`
	P99       float64 `json:"p99"`
	Questions int     `json:"questions"`
}

// warmUp is the number of questions that are asked before those that are timed.
const warmUp = 3

// timeRequests asks each question by each method as a user would, with the engine's defaults for everything that the
// method does not set, and returns the latency of each method. The methods take turns, so that a machine that slows
// down affects all alike. It fails if a request does. progress may be nil.
func timeRequests(
	ctx context.Context,
	engine Engine,
	asked []questions.Question,
	methods []Method,
	timeout time.Duration,
	progress func(done, total int),
) ([]Latency, error) {
	took := make([][]float64, len(methods))
	rounds := min(warmUp, len(asked)) + len(asked)
	for round := range rounds {
		q := &asked[round%len(asked)]
		for turn := range methods {
			i := (turn + round) % len(methods)
			r := methods[i].Request
			r.TimeoutMS = int(timeout.Milliseconds())
			request := search.Ask(q.Text, q.Before)
			r.Question = request.Question
			r.Messages = request.Messages
			started := time.Now()
			if _, err := engine.Search(ctx, search.Caller{}, r); err != nil {
				return nil, fmt.Errorf("timing %s with question %s: %w", methods[i].Name, q.ID, err)
			}
			if round >= rounds-len(asked) {
				took[i] = append(took[i], float64(time.Since(started))/float64(time.Millisecond))
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		if progress != nil {
			progress(round+1, rounds)
		}
	}
	out := make([]Latency, len(methods))
	for i := range took {
		slices.Sort(took[i])
		out[i] = Latency{
			P50:       quantile(took[i], 0.50),
			P95:       quantile(took[i], 0.95),
			P99:       quantile(took[i], 0.99),
			Questions: len(took[i]),
		}
	}
	return out, nil
}

// quantile returns the smallest value that at least the share of the sorted values does not exceed (the nearest rank).
// It returns 0 if there are none.
func quantile(sorted []float64, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(share*float64(len(sorted)) - 1e-9))
	return sorted[min(max(rank, 1), len(sorted))-1]
}
