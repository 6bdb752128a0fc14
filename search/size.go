package search

import (
	"context"
	"time"

	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/turn"
)

// RoomBytes returns the most room that an answer takes (WithRoom).
func (l Limits) RoomBytes() int { return answering.Copies * l.AnswerBytes }

// numberRoom is what a number of a vector takes: itself, and with its comma as JSON.
const numberRoom = 4 + 13*answering.Copies

// PassageRoom returns the room that a passage takes which has so many bytes as it is stored.
func PassageRoom(bytes int) int {
	return answering.Copies * (bytes + answering.ResultBytes + answering.MetadataGrows*min(bytes, answering.MetadataSmall))
}

type roomKey struct{}

// WithRoom returns a context whose requests call take before they read the texts of an answer. take waits until there
// is memory for that many bytes; its error ends the request. It is called once for each answer; in a batch, only after
// the answer before was delivered. The caller frees the memory when the answer is written.
func WithRoom(ctx context.Context, take func(ctx context.Context, bytes int) error) context.Context {
	return context.WithValue(ctx, roomKey{}, take)
}

// TakeRoom calls the function of WithRoom, and gives a step's turn back meanwhile; without one it returns nil.
func takeRoom(ctx context.Context, bytes int) error {
	if take, ok := ctx.Value(roomKey{}).(func(context.Context, int) error); ok {
		return turn.Elsewhere(ctx, func() error { return take(ctx, bytes) })
	}
	return nil
}

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
