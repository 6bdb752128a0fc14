package search

import (
	"context"
	"time"

	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/sources"
)

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

// divideTime limits a request, and in it the search and its sources, to its time: timeout, or less where some of it has
// passed since the request arrived (zero: since it began) or the caller has less. Each of the models that work on what
// is found has a share. A model behind an interface writes in time of its own, beside that.
func divideTime(
	ctx context.Context,
	q *sources.Inquiry,
	began, arrived time.Time,
) (whole, asking context.Context, searched time.Time, cancel func()) {
	end := began.Add(q.Timeout)
	if !arrived.IsZero() {
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
