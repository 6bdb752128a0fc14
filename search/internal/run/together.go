package run

import (
	"context"
	"sync"
	"sync/atomic"

	"example.org/conclave/search/turn"
)

// Together calls all steps and returns when the last one has returned. They begin in their order, at most so many at a
// time: in this goroutine with ctx, and in others with ctx without its turn. The steps must not panic.
func Together(ctx context.Context, most int, steps []func(context.Context)) {
	var next atomic.Int64
	work := func(ctx context.Context) {
		for i := next.Add(1) - 1; i < int64(len(steps)); i = next.Add(1) - 1 {
			steps[i](ctx)
		}
	}
	var beside sync.WaitGroup
	for range min(most, len(steps)) - 1 {
		beside.Go(func() { work(turn.WithoutTurn(ctx)) })
	}
	work(ctx)
	beside.Wait()
}
