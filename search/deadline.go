package search

import (
	"context"
	"time"

	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/sources"
)

type arrivalKey struct{}

// Arrived tells Search when its request came in: its time runs from then. Without
// it, it runs from the call.
func Arrived(ctx context.Context, when time.Time) context.Context {
	return context.WithValue(ctx, arrivalKey{}, when)
}

// readingModels returns how many models read what the sources find: a reader, and a reranker.
func readingModels(q *sources.Inquiry) (n int) {
	if q.Reads {
		n++
	}
	if q.Reranks {
		n++
	}
	return n
}

// divideTime limits a request, and in it the search and its sources, to its time: timeout, or less
// where some of it has passed or the caller has less. Each of the models that work on what is found
// has a share. A model behind an interface writes in time of its own, beside that.
func divideTime(
	ctx context.Context,
	q *sources.Inquiry,
	began time.Time,
) (whole, asking context.Context, searched time.Time, cancel func()) {
	end := began.Add(q.Timeout)
	if arrived, ok := ctx.Value(arrivalKey{}).(time.Time); ok {
		end = arrived.Add(q.Timeout)
	}
	written := end.Add(q.Writing)
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(written) {
		written = earlier
	}
	if written.Before(end) {
		end = written
	}
	whole, cancelWhole := context.WithDeadline(ctx, written)
	q.Timeout = max(end.Sub(began), 0)
	afterwards := min(q.Timeout/run.Reserved, run.ReservedMost)
	if q.Writes {
		afterwards = q.Timeout / 2 // what takes long is writing
	} else {
		afterwards += time.Duration(readingModels(q)) * min(q.Timeout/run.Reserved, run.ReadingMost)
	}
	asking, cancelSources := context.WithDeadline(whole, end.Add(-afterwards))
	return whole, asking, end, func() { cancelSources(); cancelWhole() }
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
