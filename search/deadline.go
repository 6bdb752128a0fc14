package search

import (
	"context"
	"time"

	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/sources"
)

// readingModels returns how many models, from 0 to 2, read passages after the sources have answered: the reader or
// generator, and the reranker.
func readingModels(q *sources.Inquiry) (n int) {
	if q.Reads {
		n++
	}
	if q.Reranks {
		n++
	}
	return n
}

// divideTime returns the contexts of the parts of a request: asking ends when the sources have to have answered, and
// whole when the response has to be complete. searched is the time by which everything but a generator on another
// machine has to be done. The time of a request is q.Timeout from arrived (zero: from began), or less if ctx ends
// earlier; q.Timeout becomes what of it was left at began. The sources leave time for the models that read what they
// found. A generator on another machine has q.Writing in addition. Call cancel at the end; it ends both contexts.
func divideTime(
	ctx context.Context,
	q *sources.Inquiry,
	began, arrived time.Time,
) (whole, asking context.Context, searched time.Time, cancel func()) {
	end := began.Add(q.Timeout)
	if !arrived.IsZero() {
		end = arrived.Add(q.Timeout)
	}
	written := end.Add(q.WritingTime)
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
