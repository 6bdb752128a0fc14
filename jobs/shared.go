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
)

// Register is a document that several servers change. Write does so where it still has the
// version that Read gave, which is "" before the first, and reports whether it had.
type Register interface {
	Read(ctx context.Context) (data []byte, version string, err error)
	Write(ctx context.Context, data []byte, version string) (now string, done bool, err error)
}

// Shared holds the jobs of a store, which any server in front of it accepts, lists and
// cancels. One server at a time works, on the oldest job. It gives signs of life, and where
// there are none for a while another one begins the job again. It is safe for concurrent
// use.
type Shared struct {
	register Register
	options  QueueOptions
	token    string // of this server, random
	wake     chan struct{}
	look     time.Duration // between two looks for a job
	beat     time.Duration // between two signs of life

	watched string // the job that another one runs, and its signs of life
	beats   int
	since   time.Time // when they were seen first
}

const (
	sharedLook    = 2 * time.Second
	sharedBeat    = 2 * time.Second
	missingBeats  = 5
	sharedPatient = 10 * time.Second // with a cluster that is asked for jobs
)

// sharedJob is a job with who works on it.
type sharedJob struct {
	Job
	Holder string `json:"holder,omitempty"` // token of the server that runs it
	Beat   int    `json:"beat,omitempty"`   // its signs of life
	Cancel bool   `json:"cancel,omitempty"` // somebody wants it to end
}

// ledger is what the register holds.
type ledger struct {
	Next uint64       `json:"next"`
	Jobs []*sharedJob `json:"jobs"` // by number, oldest first
}

// OpenShared reads nothing yet.
func OpenShared(register Register, o QueueOptions) *Shared {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Shared{register: register, options: o, token: rand.Text(), wake: make(chan struct{}, 1), look: sharedLook, beat: sharedBeat}
	s.wake <- struct{}{}
	return s
}

func (s *Shared) read(ctx context.Context) (l ledger, version string, err error) {
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
		l, version, err := s.read(ctx)
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
	j.State, j.Ended, j.Holder, j.Progress = state, &now, "", nil
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
func (s *Shared) Submit(r Request) (job Job, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), sharedPatient)
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
func (s *Shared) Job(id string) (job Job, ok bool, err error) {
	all, err := s.Jobs()
	at := slices.IndexFunc(all, func(j Job) bool { return j.ID == id })
	if at < 0 {
		return job, false, err
	}
	return all[at], true, nil
}

// Jobs lists the jobs, the newest first.
func (s *Shared) Jobs() ([]Job, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sharedPatient)
	defer cancel()
	l, _, err := s.read(ctx)
	out := []Job{}
	for _, j := range slices.Backward(l.Jobs) {
		out = append(out, j.Job)
	}
	return out, err
}

// Cancel ends a job that waits, and tells one that runs to end, which it does after a
// moment. It is a *Refusal for a job that is not there or has ended.
func (s *Shared) Cancel(id string) (job Job, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), sharedPatient)
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
		for ctx.Err() == nil && s.one(ctx) {
		}
	}
}

// errNotOurs is the cause of the end of work that another server has begun again, and the
// error where nothing is to be begun.
var errNotOurs = errors.New("another server has it")

// one does the oldest job that waits, or that nobody runs any more; it reports whether
// there was one.
func (s *Shared) one(ctx context.Context) bool {
	l, _, err := s.read(ctx)
	at := slices.IndexFunc(l.Jobs, func(j *sharedJob) bool { return !j.State.Ended() })
	if err != nil || at < 0 || !s.free(l.Jobs[at]) {
		return false
	}
	seen := *l.Jobs[at]
	var job Job
	if err := s.change(ctx, func(l *ledger) error {
		j := l.find(seen.ID)
		if j == nil || j.State != seen.State || j.Holder != seen.Holder || j.Beat != seen.Beat {
			return errNotOurs
		}
		now := time.Now().UTC()
		j.State, j.Begun, j.Attempts, j.Holder, j.Beat = Running, &now, j.Attempts+1, s.token, j.Beat+1
		job = j.Job
		return nil
	}); err != nil {
		return false
	}
	s.do(ctx, job)
	return true
}

// free reports whether a job may be begun: it waits, or its server gave no sign of life for
// a while.
func (s *Shared) free(j *sharedJob) bool {
	if j.State == Queued || j.Holder == s.token {
		return true
	}
	if s.watched != j.ID || s.beats != j.Beat {
		s.watched, s.beats, s.since = j.ID, j.Beat, time.Now()
	}
	return time.Since(s.since) > missingBeats*s.beat
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
			if j == nil || j.Holder != s.token {
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
	beats := make(chan struct{})
	go func() {
		defer close(beats)
		again := time.NewTicker(s.beat)
		defer again.Stop()
		for {
			select {
			case <-working.Done():
				return
			case <-again.C:
			}
			beat, end := context.WithTimeout(working, missingBeats*s.beat)
			stop := false
			err := ours(beat, func(_ *ledger, j *sharedJob) { j.Beat++; stop = j.Cancel })
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
	<-beats
	state, said := Queued, "job interrupted, to be begun again"
	switch {
	case err == nil:
		state, said = Done, "job done"
	case errors.Is(cause, errNotOurs):
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
			j.State, j.Holder = Queued, ""
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
