package search

import (
	"context"
	"fmt"
	"sync"
)

// Answer is the outcome of one search of a batch: Err, or Response.
type Answer struct {
	Response Response
	Err      error
}

// Batch answers several questions, in their order; an error of one leaves the
// others alone. Some run at once (Limits.BatchParallel), so that the encoders
// see them together. Each has its own deadline, which begins when it does. The
// error is for a batch that is empty or too long.
func (e *Engine) Batch(ctx context.Context, requests []Request) ([]Answer, error) {
	if n := len(requests); n == 0 || n > e.limits.Batch {
		code := "batch_too_large"
		if n == 0 {
			code = "empty_batch"
		}
		detail := fmt.Sprintf("the batch has %d searches: it must have from 1 to %d", n, e.limits.Batch)
		return nil, &Error{Kind: Invalid, Code: code, Detail: detail, Fields: []FieldError{{Pointer: "/searches", Detail: detail}}}
	}
	answers := make([]Answer, len(requests))
	e.parallel(len(requests), e.limits.BatchParallel, func(i int) {
		if err := ctx.Err(); err != nil {
			answers[i].Err = fmt.Errorf("the caller has gone: %w", err)
			return
		}
		err := guard(func() (err error) {
			answers[i].Response, err = e.Search(ctx, requests[i])
			return err
		})
		answers[i].Err = err
	})
	return answers, nil
}

// parallel calls do with 0 … n-1, at most so many at once, and returns when
// all have returned.
func (e *Engine) parallel(n, atOnce int, do func(i int)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(n, atOnce) {
		workers.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}
