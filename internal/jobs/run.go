package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/jobs/lease"
)

// Run does the jobs, one after the other, until ctx is done. A job that runs at that time is queued again, for any
// server. Run tries again later if another server works on the jobs, or if the register cannot be reached, which it
// logs. It also removes inputs that no open job reads.
func (q *Queue) Run(ctx context.Context) {
	again := time.NewTicker(q.look)
	defer again.Stop()
	left := time.NewTicker(sweep)
	defer left.Stop()
	q.sweepInputs(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.wake:
		case <-again.C:
		case <-left.C:
			q.sweepInputs(ctx)
		}
		if l, err := q.register.Read(ctx); err != nil || l.oldestOpen() == nil {
			continue
		}
		err := q.workThrough(ctx)
		var held *lease.HeldError
		if err != nil && ctx.Err() == nil && !errors.As(err, &held) && !errors.Is(err, errWorking) {
			q.options.Logger.Warn("no job can be begun", "cause", err)
		}
	}
}

// sweepInputs removes the inputs that no open job reads. An input stays until its job's end is written down, since
// the job may have to begin again. Failures are logged and tried again the next time.
func (q *Queue) sweepInputs(ctx context.Context) {
	if q.options.Inputs == nil {
		return
	}
	err := q.options.Inputs.Sweep(ctx, func(ctx context.Context, name string) (bool, error) {
		l, err := q.register.Read(ctx)
		if err != nil {
			return false, err
		}
		return slices.ContainsFunc(l.Jobs, func(j *Record) bool { return j.Name == name && !j.State.Ended() }), nil
	})
	if err != nil && ctx.Err() == nil {
		q.options.Logger.Warn("files that no job needs any more could not be removed; it is tried again", "cause", err)
	}
}

// workThrough does the open jobs until none is left. It returns an error, without doing any, if another server or
// queue works on them, and ctx's error if that ends. It also stops at the first job that cannot be begun; runOldest
// logs why.
func (q *Queue) workThrough(ctx context.Context) error {
	return q.register.Hold(ctx, func(ctx context.Context) error {
		err := q.register.Change(ctx, func(l *Ledger) error { l.Worker = q.token; return nil })
		var unwritten *UnwrittenError
		if errors.As(err, &unwritten) {
			err = nil
		}
		for err == nil && q.runOldest(ctx) {
		}
		return errors.Join(err, ctx.Err())
	})
}

// runOldest does the oldest open job, or ends it if its cancellation was asked for. It returns false if there is
// none, ctx is done, another server has taken over, or the register cannot be changed. A job that fails returns true.
// The register must be held (Register.Hold).
func (q *Queue) runOldest(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	var job Job
	err := q.register.Change(ctx, func(l *Ledger) error {
		if l.Worker != q.token {
			return errNotOurs
		}
		j := l.oldestOpen()
		switch {
		case j == nil:
			return errNotOurs
		case j.Cancel: // and its server died before it ended
			l.endJob(j, Cancelled)
		default:
			now := time.Now().UTC()
			j.State = Running
			j.Begun = &now
			j.Attempts = j.Attempts + 1
		}
		job = j.Job
		return nil
	})
	var unwritten *UnwrittenError
	switch {
	case errors.As(err, &unwritten):
		// How often it was begun is for people; the job itself is on disk.
		q.options.Logger.Warn("the beginning of a job could not be written down", "job", job.ID, "cause", err)
	case errors.Is(err, errNotOurs):
		return false
	case err != nil:
		if ctx.Err() == nil {
			q.options.Logger.Warn("no job can be begun", "cause", err)
		}
		return false
	}
	if job.State == Running {
		q.runJob(ctx, job)
		q.sweepInputs(ctx)
	}
	return true
}

// runJob does a job that this queue has begun, and stores how it ended: done, failed, cancelled, or queued again if
// ctx is done. It blocks until the work has ended, logs beginning and end, and stores nothing if another server has
// begun the job again.
func (q *Queue) runJob(ctx context.Context, job Job) {
	log := q.options.Logger.With("job", job.ID, "kind", job.Kind, "name", job.Name)
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q.noteRunning(job.ID, cancel)
	defer q.noteRunning("", nil)
	started := time.Now()
	log.Info("job begins", "attempt", job.Attempts)
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		q.followJob(working, job.ID, cancel)
	}()
	result, err := q.callHandler(working, job)
	cause := context.Cause(working)
	cancel(nil)
	<-looked
	state, message := Queued, "a job was interrupted, and will be begun again"
	var lost *lease.HeldError
	switch {
	case err == nil:
		state, message = Done, "job done"
	case errors.Is(cause, errNotOurs) || errors.As(cause, &lost):
		log.Warn("another server began the job again, since nothing was heard from this one")
		return
	case errors.Is(cause, errCancelled):
		state, message = Cancelled, "job cancelled"
	case ctx.Err() == nil:
		state, message = Failed, "job failed"
	}
	ending, end := context.WithTimeout(context.WithoutCancel(ctx), patient)
	defer end()
	wrote := q.changeJob(ending, job.ID, func(l *Ledger, j *Record) {
		switch state {
		case Queued:
			j.State = Queued
			return
		case Done:
			j.Result = &result
		case Failed:
			j.Error = err.Error()
		}
		l.endJob(j, state)
	})
	took := time.Since(started).Round(time.Millisecond).String()
	if wrote != nil {
		log.Error("a job ended, and that could not be written down, so it is begun once more", "cause", wrote)
	}
	if state == Failed {
		log.Error(message, "took", took, "cause", err)
		return
	}
	log.Info(message, "took", took)
}

// noteRunning records which job runs in this process and how to cancel it, and forgets the progress of the one before;
// "" if none runs.
func (q *Queue) noteRunning(id string, cancel context.CancelCauseFunc) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running, q.cancel = id, cancel
	q.progress = nil
}

// changeJob stores a change of the record of the job that this queue does, together with the job's present progress. It
// returns errNotOurs if the job is gone or another server works on the jobs, or the register's error.
func (q *Queue) changeJob(ctx context.Context, id string, change func(*Ledger, *Record)) error {
	return q.register.Change(ctx, func(l *Ledger) error {
		j := l.findRecord(id)
		if j == nil || l.Worker != q.token {
			return errNotOurs
		}
		q.mu.Lock()
		if q.progress != nil {
			now := *q.progress
			j.Progress = &now
		}
		q.mu.Unlock()
		change(l, j)
		return nil
	})
}

// followJob stores a job's progress every q.look until ctx is done. It calls cancel with errCancelled if the job's
// cancellation was asked for, and with errNotOurs if another server has taken over. Other errors of the register are
// ignored.
func (q *Queue) followJob(ctx context.Context, id string, cancel context.CancelCauseFunc) {
	again := time.NewTicker(q.look)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
		look, end := context.WithTimeout(ctx, patient)
		stop := false
		err := q.changeJob(look, id, func(_ *Ledger, j *Record) { stop = j.Cancel })
		end()
		switch {
		case errors.Is(err, errNotOurs):
			cancel(errNotOurs)
		case stop:
			cancel(errCancelled)
		}
	}
}

// callHandler calls the Work function of the job's kind and returns its result. A panic, a fault in a mapped file, or
// an unknown kind is returned as an error.
func (q *Queue) callHandler(ctx context.Context, j Job) (result Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the work panicked: %v\n%s", r, debug.Stack())
		}
	}()
	kind, ok := q.options.Kinds[j.Kind]
	if !ok {
		return result, fmt.Errorf("this version of conclave has no job of the kind %q", j.Kind)
	}
	report := func(p Progress) {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.progress = &p
	}
	// A mapped file that was cut fails the job that reads it, not the server.
	err = disk.Survive(func() (err error) {
		result, err = kind.Work(ctx, Task{Job: j, Scratch: q.register.Scratch(j.ID), Report: report})
		return err
	})
	return result, err
}
