package search

import (
	"context"
	"time"

	"example.org/conclave/search/internal/answering"
)

// RoomBytes returns the greatest memory in bytes that one response takes (Caller.TakeRoom). It is a multiple of
// l.AnswerBytes.
func (l Limits) RoomBytes() int { return answering.Copies * l.AnswerBytes }

// waitForEarlier waits until ahead is closed: the answers before this one in a batch were delivered. It returns how
// long it waited, and a context that has as much time left as search had before. Call cancel at the end. It fails if
// the context batch ends first.
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
