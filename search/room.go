package search

import (
	"context"
	"time"
)

type roomKey struct{}

// WithRoom makes the answers to a context's requests take memory before their texts
// are read. take waits until there is room for so many bytes, and what it returns
// ends the request. It is called once for an answer, of a batch's answers for the next
// only when the one before it was delivered. Whoever writes the answer gives its room
// back then.
func WithRoom(ctx context.Context, take func(ctx context.Context, bytes int) error) context.Context {
	return context.WithValue(ctx, roomKey{}, take)
}

func takeRoom(ctx context.Context, bytes int) error {
	if take, ok := ctx.Value(roomKey{}).(func(context.Context, int) error); ok {
		return take(ctx, bytes)
	}
	return nil
}

// after waits until the answers before this one are delivered. That time does not count:
// the context that it returns has as much time left as before.
func after(
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
