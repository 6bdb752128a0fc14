package jobs

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Handler does the jobs of one kind.
type Handler struct {
	// Check returns a *Refusal if a request cannot become a job. It may be nil.
	Check func(Request) error
	// Work does the job, and ends early when ctx does. It may be called again after a restart, even if it had done the
	// job and that was not stored.
	Work func(ctx context.Context, t Task) (Result, error)
}

// Task is a job as Work gets it. Its Progress is that of the attempt before, if that is known.
type Task struct {
	Job
	// Scratch is a path where the job may leave a file or folder for its next attempt; "" if there is no such place.
	// Nothing is there at the first attempt. What is there is removed when the job has ended.
	Scratch string
	Report  func(Progress)
}

// QueueOptions configure a Queue.
type QueueOptions struct {
	Kinds  map[string]Handler
	Inputs Inputs       // of the jobs; nil: they have none
	Logger *slog.Logger // nil: none
}

// Jobs that may wait, and jobs that have ended and are remembered.
const (
	mostWaiting = 100
	mostEnded   = 100
)

const (
	lookEvery = 2 * time.Second  // between two looks for a job, or at its cancellation
	patient   = 10 * time.Second // with a register
	sweep     = time.Minute      // between two looks for inputs that no job wants
)

// Queue accepts, lists and cancels the jobs of a collection, and does them, the oldest first, while no other server
// does (Run). It is safe for concurrent use.
type Queue struct {
	register Register
	options  QueueOptions
	token    string        // of this queue, random
	wake     chan struct{} // one place: there may be something to do
	look     time.Duration // lookEvery, but in tests

	mu       sync.Mutex
	running  string // id of the job that runs here; "": none
	progress *Progress
	cancel   context.CancelCauseFunc
}

// What ends the work of a job.
var (
	errCancelled = errors.New("cancelled")
	errNotOurs   = errors.New("another server has it")
)

// NewQueue returns a queue of the jobs in a register. Call Run to have them done. It starts nothing, and a nil Logger
// discards the log.
func NewQueue(r Register, o QueueOptions) *Queue {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	q := &Queue{register: r, options: o, token: rand.Text(), wake: make(chan struct{}, 1), look: lookEvery}
	q.wake <- struct{}{}
	return q
}

// Submit adds a job to the register and returns it; from then on the job survives a restart, and Run is woken. It
// returns a *Refusal if the kind is unknown, the kind's Check refuses the request, a job for the same name has not
// ended, or too many wait (checkRequest). It waits at most ten seconds for the register.
func (q *Queue) Submit(ctx context.Context, r Request) (job Job, err error) {
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	kind, ok := q.options.Kinds[r.Kind]
	if !ok {
		return job, Refuse("unknown_value", "there is no job of the kind %q", r.Kind)
	}
	err = q.register.Change(ctx, func(l *Ledger) error {
		if err := l.checkRequest(r); err != nil {
			return err
		}
		if kind.Check != nil {
			if err := kind.Check(r); err != nil {
				return err
			}
		}
		job = Job{ID: strconv.FormatUint(l.Next, 10), Request: r, State: Queued, Created: time.Now().UTC()}
		l.Next++
		l.Jobs = append(l.Jobs, &Record{Job: job})
		return nil
	})
	var unwritten *UnwrittenError // of other jobs
	if errors.As(err, &unwritten) {
		err = nil
	}
	if err != nil {
		return Job{}, err
	}
	q.options.Logger.Info("job accepted", "job", job.ID, "kind", job.Kind, "name", job.Name)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return job, nil
}

// Job returns the job with this id; ok is false if there is none. It fails if the jobs cannot be read.
func (q *Queue) Job(ctx context.Context, id string) (job Job, ok bool, err error) {
	all, err := q.Jobs(ctx)
	at := slices.IndexFunc(all, func(j Job) bool { return j.ID == id })
	if at < 0 {
		return job, false, err
	}
	return all[at], true, nil
}

// Jobs returns all jobs of the register, the newest first, with the present progress of the one that this process
// runs. It waits at most ten seconds for the register. It fails if the register cannot be read in that time.
func (q *Queue) Jobs(ctx context.Context) ([]Job, error) {
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	l, err := q.register.Read(ctx)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	out := []Job{}
	for _, j := range slices.Backward(l.Jobs) {
		if j.ID == q.running && j.State == Running && q.progress != nil {
			now := *q.progress
			j.Progress = &now
		}
		out = append(out, j.Job)
	}
	return out, nil
}

// Cancel ends a queued job, or asks a running one to end, which it does a moment later. It returns the job as it is
// after that, still running in the second case, and a *Refusal if there is no such job or it has ended. If the
// register cannot store it, that is logged, and after a restart the job begins again.
func (q *Queue) Cancel(ctx context.Context, id string) (job Job, err error) {
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	err = q.register.Change(ctx, func(l *Ledger) error {
		j := l.findRecord(id)
		switch {
		case j == nil:
			return Refuse("unknown_job", "there is no job %q", id)
		case j.State.Ended():
			return Refuse("job_ended", "job %s has ended already: it is %s", id, j.State)
		case j.State == Running:
			j.Cancel = true
		default:
			l.endJob(j, Cancelled)
		}
		job = j.Job
		return nil
	})
	var unwritten *UnwrittenError
	if errors.As(err, &unwritten) {
		q.options.Logger.Error("a job was cancelled, but that could not be stored: a restart begins it again", "job", id, "cause", err)
		err = nil
	}
	if err != nil {
		return Job{}, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running == id {
		q.cancel(errCancelled)
	}
	return job, nil
}
