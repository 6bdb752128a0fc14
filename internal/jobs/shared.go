package jobs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"example.org/conclave/internal/jobs/lease"
)

// Shared holds the jobs of a store, which any server in front of it accepts, lists and
// cancels. One server at a time has the lease to work, on the oldest job. Where it gives no
// signs of life for a while another one begins the job again. It is safe for concurrent use.
type Shared struct {
	register lease.Register
	working  lease.Lease
	options  QueueOptions
	token    string // of this server, random
	wake     chan struct{}
	look     time.Duration // between two looks for a job, or at its cancellation
}

const (
	sharedLook    = 2 * time.Second
	sharedPatient = 10 * time.Second // with a cluster that is asked for jobs
)

// sharedJob is a job, and whether somebody wants it to end.
type sharedJob struct {
	Job
	Cancel bool `json:"cancel,omitempty"`
}

// ledger is what the register holds.
type ledger struct {
	Next uint64 `json:"next"`
	// token of the server that had the lease last: no other one changes a job that runs
	Worker string       `json:"worker"`
	Jobs   []*sharedJob `json:"jobs"` // by number, oldest first
}

// OpenShared reads nothing yet. One register has the jobs, the other one who works on them.
func OpenShared(register, working lease.Register, o QueueOptions) *Shared {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Shared{
		register: register,
		working:  lease.Lease{Register: working, Of: "the list of jobs", Beat: lease.Beat},
		options:  o,
		token:    rand.Text(),
		wake:     make(chan struct{}, 1),
		look:     sharedLook,
	}
	s.wake <- struct{}{}
	return s
}

func (s *Shared) readLedger(ctx context.Context) (l ledger, version string, err error) {
	data, version, err := s.register.Read(ctx)
	if err == nil && version != "" {
		err = json.Unmarshal(data, &l)
	}
	l.Next = max(l.Next, 1)
	return l, version, err
}

// change changes the jobs as they are now.
func (s *Shared) change(ctx context.Context, change func(*ledger) error) error {
	for {
		l, version, err := s.readLedger(ctx)
		if err != nil {
			return err
		}
		if err := change(&l); err != nil {
			return err
		}
		data, err := json.Marshal(&l)
		if err != nil {
			return err
		}
		if _, done, err := s.register.Write(ctx, data, version); done || err != nil {
			return err
		}
	}
}

func (l *ledger) find(id string) *sharedJob {
	if at := slices.IndexFunc(l.Jobs, func(j *sharedJob) bool { return j.ID == id }); at >= 0 {
		return l.Jobs[at]
	}
	return nil
}

// end ends a job, and forgets the oldest that have ended.
func (l *ledger) end(j *sharedJob, state State) {
	now := time.Now().UTC()
	j.State = state
	j.Ended = &now
	j.Progress = nil
	ended := 0
	for _, j := range l.Jobs {
		if j.State.Ended() {
			ended++
		}
	}
	l.Jobs = slices.DeleteFunc(l.Jobs, func(j *sharedJob) bool {
		if !j.State.Ended() || ended <= mostEnded {
			return false
		}
		ended--
		return true
	})
}

// Submit accepts a job. A request that cannot be done, or is being done, is a *Refusal.
func (s *Shared) Submit(ctx context.Context, r Request) (job Job, err error) {
	ctx, cancel := context.WithTimeout(ctx, sharedPatient)
	defer cancel()
	kind, ok := s.options.Kinds[r.Kind]
	if !ok {
		return job, Refuse("unknown_value", "there is no job of the kind %q", r.Kind)
	}
	err = s.change(ctx, func(l *ledger) error {
		var all []*Job
		for _, j := range l.Jobs {
			all = append(all, &j.Job)
		}
		if err := admit(all, r); err != nil {
			return err
		}
		if kind.Check != nil {
			if err := kind.Check(r); err != nil {
				return err
			}
		}
		job = Job{ID: strconv.FormatUint(l.Next, 10), Request: r, State: Queued, Created: time.Now().UTC()}
		l.Next++
		l.Jobs = append(l.Jobs, &sharedJob{Job: job})
		return nil
	})
	if err == nil {
		s.options.Logger.Info("job accepted", "job", job.ID, "kind", job.Kind, "name", job.Name)
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
	return job, err
}

// Job finds a job by its id.
func (s *Shared) Job(ctx context.Context, id string) (job Job, ok bool, err error) {
	all, err := s.Jobs(ctx)
	at := slices.IndexFunc(all, func(j Job) bool { return j.ID == id })
	if at < 0 {
		return job, false, err
	}
	return all[at], true, nil
}

// Jobs lists the jobs, the newest first.
func (s *Shared) Jobs(ctx context.Context) ([]Job, error) {
	ctx, cancel := context.WithTimeout(ctx, sharedPatient)
	defer cancel()
	l, _, err := s.readLedger(ctx)
	out := []Job{}
	for _, j := range slices.Backward(l.Jobs) {
		out = append(out, j.Job)
	}
	return out, err
}

// Cancel ends a job that waits, and tells one that runs to end, which it does after a
// moment. It is a *Refusal for a job that is not there or has ended.
func (s *Shared) Cancel(ctx context.Context, id string) (job Job, err error) {
	ctx, cancel := context.WithTimeout(ctx, sharedPatient)
	defer cancel()
	err = s.change(ctx, func(l *ledger) error {
		j := l.find(id)
		switch {
		case j == nil:
			return Refuse("unknown_job", "there is no job %q", id)
		case j.State.Ended():
			return Refuse("job_ended", "job %s has ended already: it is %s", id, j.State)
		case j.State == Running:
			j.Cancel = true
		default:
			l.end(j, Cancelled)
		}
		job = j.Job
		return nil
	})
	return job, err
}

// Run does the jobs, one after the other, until ctx is done. The one that runs then waits
// again, for any server.
func (s *Shared) Run(ctx context.Context) {
	again := time.NewTicker(s.look)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-again.C:
		}
		if _, waits := s.oldest(ctx); !waits {
			continue
		}
		err := s.working.Hold(ctx, "a job", 0, func(ctx context.Context) error {
			err := s.change(ctx, func(l *ledger) error { l.Worker = s.token; return nil })
			for err == nil && s.one(ctx) {
			}
			return errors.Join(err, ctx.Err())
		})
		var held *lease.HeldError
		if err != nil && ctx.Err() == nil && !errors.As(err, &held) {
			s.options.Logger.Warn("no job can be begun", "cause", err)
		}
	}
}

// errNotOurs is the error of who is not the worker any more.
var errNotOurs = errors.New("another server has it")

// oldest returns the oldest job that has not ended.
func (s *Shared) oldest(ctx context.Context) (id string, ok bool) {
	l, _, err := s.readLedger(ctx)
	at := slices.IndexFunc(l.Jobs, func(j *sharedJob) bool { return !j.State.Ended() })
	if err != nil || at < 0 {
		return "", false
	}
	return l.Jobs[at].ID, true
}

// one does the oldest job, as the only server that works; it reports whether there was one.
func (s *Shared) one(ctx context.Context) bool {
	id, ok := s.oldest(ctx)
	if !ok || ctx.Err() != nil {
		return false
	}
	var job Job
	if err := s.change(ctx, func(l *ledger) error {
		if l.Worker != s.token {
			return errNotOurs
		}
		j := l.find(id)
		if j == nil || j.State.Ended() {
			return errCancelled
		}
		now := time.Now().UTC()
		j.State = Running
		j.Begun = &now
		j.Attempts = j.Attempts + 1
		job = j.Job
		return nil
	}); err != nil {
		return errors.Is(err, errCancelled)
	}
	s.do(ctx, job)
	return true
}

// do does a job that is ours.
func (s *Shared) do(ctx context.Context, job Job) {
	log := s.options.Logger.With("job", job.ID, "kind", job.Kind, "name", job.Name)
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	started := time.Now()
	log.Info("job begins", "attempt", job.Attempts)
	var mu sync.Mutex
	var progress *Progress
	ours := func(ctx context.Context, change func(*ledger, *sharedJob)) error {
		return s.change(ctx, func(l *ledger) error {
			j := l.find(job.ID)
			if j == nil || l.Worker != s.token {
				return errNotOurs
			}
			mu.Lock()
			if progress != nil {
				j.Progress = progress
			}
			mu.Unlock()
			change(l, j)
			return nil
		})
	}
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		again := time.NewTicker(s.look)
		defer again.Stop()
		for {
			select {
			case <-working.Done():
				return
			case <-again.C:
			}
			look, end := context.WithTimeout(working, sharedPatient)
			stop := false
			err := ours(look, func(_ *ledger, j *sharedJob) { stop = j.Cancel })
			end()
			switch {
			case errors.Is(err, errNotOurs):
				cancel(errNotOurs)
			case err == nil && stop:
				cancel(errCancelled)
			}
		}
	}()
	result, err := work(working, s.options.Kinds, Task{Job: job, Report: func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		progress = &p
	}})
	cause := context.Cause(working)
	cancel(nil)
	<-looked
	state, said := Queued, "job interrupted, to be begun again"
	var lost *lease.HeldError
	switch {
	case err == nil:
		state, said = Done, "job done"
	case errors.Is(cause, errNotOurs) || errors.As(cause, &lost):
		log.Warn("another server began the job again, since nothing was heard from this one")
		return
	case errors.Is(cause, errCancelled):
		state, said = Cancelled, "job cancelled"
	case ctx.Err() == nil:
		state, said = Failed, "job failed"
	}
	settling, end := context.WithTimeout(context.WithoutCancel(ctx), sharedPatient)
	defer end()
	wrote := ours(settling, func(l *ledger, j *sharedJob) {
		switch state {
		case Queued:
			j.State = Queued
			return
		case Done:
			j.Result = &result
		case Failed:
			j.Error = err.Error()
		}
		l.end(j, state)
	})
	if wrote != nil {
		wrote = fmt.Errorf("that could not be written down, so it is begun once more: %w", wrote)
	}
	log.Info(said, "took", time.Since(started).Round(time.Millisecond).String(), "cause", errors.Join(err, wrote))
}
