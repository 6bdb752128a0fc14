package search

import (
	"context"
	"time"
)

type arrivalKey struct{}

// Arrived tells Search when its request came in: its time runs from then. Without
// it, it runs from the call.
func Arrived(ctx context.Context, when time.Time) context.Context {
	return context.WithValue(ctx, arrivalKey{}, when)
}

// reserved is the share of a request's time that is left, when the last source has
// to be back, for making an answer of what the others found: a quarter, and never
// more than reservedMost.
const (
	reserved     = 4
	reservedMost = 100 * time.Millisecond
)

// readingMost is the most that a reader, and a reranker, has of a request's time, of which each
// gets a quarter: the sources have to be back so much earlier.
const readingMost = 500 * time.Millisecond

// shares returns how many models work on what the sources find: a reader, and a reranker.
func (q *inquiry) shares() (n int) {
	if q.reads {
		n++
	}
	if q.reranks {
		n++
	}
	return n
}

// divideTime limits a request, and in it the search and its sources, to its time: timeout, or less
// where some of it has passed or the caller has less. Each of the models that work on what is found
// has a share. A model behind an interface writes in time of its own, beside that.
func (q *inquiry) divideTime(
	ctx context.Context,
	began time.Time,
) (whole, sources context.Context, searched time.Time, cancel func()) {
	end := began.Add(q.timeout)
	if arrived, ok := ctx.Value(arrivalKey{}).(time.Time); ok {
		end = arrived.Add(q.timeout)
	}
	written := end.Add(q.writing)
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(written) {
		written = earlier
	}
	if written.Before(end) {
		end = written
	}
	whole, cancelWhole := context.WithDeadline(ctx, written)
	q.timeout = max(end.Sub(began), 0)
	afterwards := min(q.timeout/reserved, reservedMost)
	if q.writes {
		afterwards = q.timeout / 2 // what takes long is writing
	} else {
		afterwards += time.Duration(q.shares()) * min(q.timeout/reserved, readingMost)
	}
	sources, cancelSources := context.WithDeadline(whole, end.Add(-afterwards))
	return whole, sources, end, func() { cancelSources(); cancelWhole() }
}

// searching returns a context for searching and reading, which ends before the time that is reserved for writing
// begins.
func (p *pass) searching(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.writing == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, p.searched)
}

type idleKey struct{}

// WithIdle returns a context whose searches call idle when they begin to wait for a model on another machine, and goOn
// when they continue. Both are called in the goroutine that searches.
func WithIdle(ctx context.Context, idle func() (goOn func())) context.Context {
	return context.WithValue(ctx, idleKey{}, idle)
}

// wait calls the idle function of WithIdle and returns its goOn; without one, goOn does nothing.
func wait(ctx context.Context) (goOn func()) {
	if idle, ok := ctx.Value(idleKey{}).(func() func()); ok {
		return idle()
	}
	return func() {}
}
