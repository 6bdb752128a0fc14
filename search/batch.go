package search

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/reply"
)

// Answer is the result of one search of a batch: Response, or Err if that is not nil.
type Answer struct {
	Response reply.Response
	Err      error
}

// Batch answers several requests and calls deliver with each answer, in the order of the requests. A search that fails
// does not stop the others.
//
// Up to Limits.BatchParallel searches run at once, so that encoders work on them together. The texts of results are
// read for one answer at a time: a search waits before that until the answer before it was delivered. The deadline of a
// search begins when the search does, and this wait does not count. If ctx ends with the cause
// context.DeadlineExceeded, the remaining answers are a *fault.Error of kind Deadline (BatchOver).
//
// Batch returns a *fault.Error if the batch is empty or too long, or if the engine is closed. It also returns the first
// error of deliver, and then ends the batch.
//
// It returns when no search of the batch runs any more.
func (e *Engine) Batch(ctx context.Context, by Caller, requests []Request, deliver func(Answer) error) error {
	if n := len(requests); n == 0 || n > e.limits.Batch {
		code := "batch_too_large"
		if n == 0 {
			code = "out_of_range"
		}
		detail := fmt.Sprintf("the batch has %d searches: it must have from 1 to %d", n, e.limits.Batch)
		return &fault.Error{
			Kind: fault.Invalid, Code: code, Detail: detail,
			Fields: []fault.FieldError{{Pointer: "/searches", Detail: detail}},
		}
	}
	l, err := e.useLineUp()
	if err != nil {
		return err
	}
	defer l.panel.Users.Leave()
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	answers := make([]chan Answer, len(requests)) // of those begun and not delivered
	delivered := make([]chan struct{}, len(requests))
	begin := func(i int) {
		answers[i], delivered[i] = make(chan Answer, 1), make(chan struct{})
		var ahead chan struct{}
		if i > 0 {
			ahead = delivered[i-1]
		}
		running.Go(func() { answers[i] <- e.answerOne(ctx, l, by, requests[i], ahead) })
	}
	for i := range requests {
		if i == 0 {
			for n := range min(len(requests), e.limits.BatchParallel) {
				begin(n)
			}
		}
		answer := <-answers[i]
		answers[i] = nil
		if next := i + e.limits.BatchParallel; next < len(requests) {
			// This one is delivered afterwards: an answer that is being sent needs no encoder.
			begin(next)
		}
		if err := deliver(answer); err != nil {
			return err
		}
		close(delivered[i])
	}
	return nil
}

// BatchOver is the detail of the error of a search that was not done within the time of its batch.
const BatchOver = "the time of the whole batch was over before this search was done: send it again, with fewer at once"

// answerOne answers one request of a batch with line-up l. It reads texts only when ahead is closed, that is when the
// answer before it was delivered; nil: there is none. A panic becomes an error.
func (e *Engine) answerOne(
	ctx context.Context,
	l *lineUp,
	by Caller,
	r Request,
	ahead <-chan struct{},
) (answer Answer) {
	defer func() {
		var known *fault.Error
		if answer.Err != nil && context.Cause(ctx) == context.DeadlineExceeded &&
			!(errors.As(answer.Err, &known) && known.Kind == fault.Invalid) {
			answer.Err = &fault.Error{Kind: fault.Deadline, Code: "deadline", Detail: BatchOver, Err: context.DeadlineExceeded}
		}
	}()
	if err := ctx.Err(); err != nil {
		return Answer{Err: fmt.Errorf("the caller has gone: %w", err)}
	}
	answer.Err = run.Guard(func() (err error) {
		answer.Response, err = e.answerNoted(ctx, l, by, r, time.Now(), ahead)
		return err
	})
	return answer
}
