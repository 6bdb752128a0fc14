package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Run does the jobs, one after the other, until ctx is done. The one that runs
// then ends, and is begun again by the next process.
func (q *Queue) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.wake:
		}
		for ctx.Err() == nil && q.one(ctx) {
		}
	}
}

// one does the oldest job that waits; it reports whether there was one.
func (q *Queue) one(ctx context.Context) bool {
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	j, ok := q.begin(cancel)
	if !ok {
		return false
	}
	started := time.Now()
	q.options.Logger.Info("job begins", "job", j.ID, "kind", j.Kind, "name", j.Name, "attempt", j.Attempts)
	result, err := q.work(working, j)

	q.mu.Lock()
	defer q.mu.Unlock()
	q.cancel = nil
	now := q.find(j.ID)
	took := time.Since(started).Round(time.Millisecond).String()
	switch {
	case err == nil:
		now.Result = &result
		now.Progress = nil
		q.finish(now, Done, nil)
		q.options.Logger.Info("job done", "job", j.ID, "kind", j.Kind, "name", j.Name, "took", took)
	case errors.Is(context.Cause(working), errCancelled):
		q.finish(now, Cancelled, nil)
		q.options.Logger.Info("job cancelled", "job", j.ID, "kind", j.Kind, "name", j.Name, "took", took)
	case ctx.Err() != nil:
		now.State, now.Progress = Queued, nil
		q.options.Logger.Info("job interrupted, to be begun again", "job", j.ID, "kind", j.Kind, "name", j.Name)
	default:
		q.finish(now, Failed, err)
		q.options.Logger.Error("job failed", "job", j.ID, "kind", j.Kind, "name", j.Name, "took", took, "cause", err)
	}
	return true
}

// begin takes the oldest job that waits.
func (q *Queue) begin(cancel context.CancelCauseFunc) (Job, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		if j.State != Queued {
			continue
		}
		now := time.Now().UTC()
		j.State = Running
		j.Begun = &now
		j.Attempts = j.Attempts + 1
		if err := writeRecord(q.dir, j); err != nil {
			// How often it was begun is for people; the job itself is on disk.
			q.options.Logger.Warn("the beginning of a job could not be written down", "job", j.ID, "cause", err)
		}
		q.cancel = cancel
		return j.copied(), true
	}
	return Job{}, false
}

func (q *Queue) work(ctx context.Context, j Job) (Result, error) {
	return work(ctx, q.options.Kinds, Task{Job: j, Scratch: q.scratch(j.ID), Report: func(p Progress) {
		q.mu.Lock()
		defer q.mu.Unlock()
		if now := q.find(j.ID); now != nil {
			now.Progress = &p
		}
	}})
}

// work does a job by its kind.
func work(ctx context.Context, kinds map[string]Handler, t Task) (result Result, err error) {
	// A mapped file that was cut fails the job that reads it, not the server.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the work panicked: %v\n%s", r, debug.Stack())
		}
	}()
	kind, ok := kinds[t.Kind]
	if !ok {
		return result, fmt.Errorf("this program knows no job of the kind %q", t.Kind)
	}
	return kind.Work(ctx, t)
}
