package search

import (
	"context"
	"time"

	"example.org/conclave/search/internal/answering"
)

// RoomBytes returns the most room that an answer takes (Caller.TakeRoom).
func (l Limits) RoomBytes() int { return answering.Copies * l.AnswerBytes }

// waitForEarlier waits until the answers before this one are delivered. That time does not count:
// the context that it returns has as much time left as before.
func waitForEarlier(
	batch, search context.Context,
	ahead <-chan struct{},
) (left context.Context, waited time.Duration, cancel context.CancelFunc, err error) {
	began := time.Now()
	end, _ := search.Deadline()
	select {
	case <-ahead:
	case <-batch.Done():
		return nil, 0, nil, batch.Err()
	}
	waited = time.Since(began)
	left, cancel = context.WithDeadline(batch, end.Add(waited))
	return left, waited, cancel, nil
}
