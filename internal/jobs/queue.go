package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Handler is how one kind of job is done.
type Handler struct {
	// Check says what keeps a request from becoming a job, as a *Refusal. It may
	// be nil.
	Check func(Request) error
	// Work does the job. It ends early when ctx does, and may be begun again
	// after a restart, also when it had done its work and nobody wrote that down.
	Work func(ctx context.Context, t Task) (Result, error)
}

// Task is a job as its work gets it.
type Task struct {
	Job
	// Scratch is a path for what should outlive a restart. Nothing is there at
	// the first attempt, and what is there is removed when the job has ended.
	Scratch string
	Report  func(Progress)
}

// QueueOptions are what a Queue is made of.
type QueueOptions struct {
	Kinds  map[string]Handler
	Logger *slog.Logger // nil: none
}

// Jobs that may wait, and jobs that have ended and are remembered.
const (
	mostWaiting = 100
	mostEnded   = 100
)

// Queue holds the jobs of one collection. It is safe for concurrent use.
type Queue struct {
	dir     string
	options QueueOptions
	wake    chan struct{} // one place: there may be something to do
	damaged []string

	mu     sync.Mutex
	jobs   []*Job // by number, oldest first
	next   uint64
	cancel context.CancelCauseFunc // of the job that runs
}

// errCancelled ends the work of a job that somebody cancelled.
var errCancelled = errors.New("cancelled")

// Open reads the jobs in the folder dir, which is made when the first one
// comes. Jobs that had not ended wait again. A record that is damaged is set
// aside, see Damaged.
func Open(dir string, o QueueOptions) (*Queue, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	q := &Queue{dir: dir, options: o, wake: make(chan struct{}, 1)}
	var err error
	q.jobs, q.next, q.damaged, err = readRecords(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the jobs in %s: %w", dir, err)
	}
	for _, path := range q.damaged {
		o.Logger.Error(
			"the record of a job is damaged: the job is not done; ask for it again, and remove the file",
			"file",
			path,
		)
	}
	for _, j := range q.jobs {
		if !j.State.Ended() {
			j.State, j.Progress = Queued, nil
		}
	}
	q.wake <- struct{}{}
	return q, nil
}

// Submit accepts a job, which survives a restart from then on. A request that
// cannot be done, or is being done, is a *Refusal.
func (q *Queue) Submit(_ context.Context, r Request) (Job, error) {
	kind, ok := q.options.Kinds[r.Kind]
	if !ok {
		return Job{}, Refuse("unknown_value", "there is no job of the kind %q", r.Kind)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := admit(q.jobs, r); err != nil {
		return Job{}, err
	}
	if kind.Check != nil {
		if err := kind.Check(r); err != nil {
			return Job{}, err
		}
	}
	j := &Job{ID: strconv.FormatUint(q.next, 10), Request: r, State: Queued, Created: time.Now().UTC()}
	if err := writeRecord(q.dir, j); err != nil {
		return Job{}, fmt.Errorf("writing job %s down: %w", j.ID, err)
	}
	q.next++
	q.jobs = append(q.jobs, j)
	q.options.Logger.Info("job accepted", "job", j.ID, "kind", j.Kind, "name", j.Name)
	q.rouse()
	return j.copied(), nil
}

// admit returns a *Refusal where a request is about what another job does, or too many wait.
func admit(all []*Job, r Request) error {
	waiting := 0
	for _, j := range all {
		if j.State.Ended() {
			continue
		}
		if waiting++; j.Name == r.Name && (j.Kind == Snapshot) == (r.Kind == Snapshot) {
			return Refuse(
				"job_under_way",
				"job %s (%s) is about %q and has not ended: see /v1/jobs/%s",
				j.ID,
				j.Kind,
				j.Name,
				j.ID,
			)
		}
	}
	if waiting >= mostWaiting {
		return Refuse("too_many_jobs", "%d jobs wait already", waiting)
	}
	return nil
}

func (q *Queue) rouse() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// copied returns a job that does not change any more.
func (j *Job) copied() Job {
	out := *j
	if j.Progress != nil {
		p := *j.Progress
		out.Progress = &p
	}
	return out
}

// Job finds a job by its id.
func (q *Queue) Job(_ context.Context, id string) (Job, bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if j := q.find(id); j != nil {
		return j.copied(), true, nil
	}
	return Job{}, false, nil
}

func (q *Queue) find(id string) *Job {
	if at := slices.IndexFunc(q.jobs, func(j *Job) bool { return j.ID == id }); at >= 0 {
		return q.jobs[at]
	}
	return nil
}

// Damaged lists the files of records that were damaged when the queue was
// opened. Their jobs are not done. They are told until somebody removes them.
func (q *Queue) Damaged() []string { return q.damaged }

// Jobs lists the jobs, the newest first.
func (q *Queue) Jobs(context.Context) ([]Job, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := []Job{}
	for _, j := range slices.Backward(q.jobs) {
		out = append(out, j.copied())
	}
	return out, nil
}

// Cancel ends a job that waits, and tells one that runs to end, which it does
// in a moment. It is a *Refusal for a job that is not there or has ended.
func (q *Queue) Cancel(_ context.Context, id string) (Job, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j := q.find(id)
	switch {
	case j == nil:
		return Job{}, Refuse("unknown_job", "there is no job %q", id)
	case j.State.Ended():
		return Job{}, Refuse("job_ended", "job %s has ended already: it is %s", id, j.State)
	case j.State == Running:
		q.cancel(errCancelled)
	default:
		q.finish(j, Cancelled, nil)
	}
	return j.copied(), nil
}

// finish ends a job. Called with mu held.
func (q *Queue) finish(j *Job, state State, err error) {
	now := time.Now().UTC()
	j.State = state
	j.Ended = &now
	if err != nil {
		j.Error = err.Error()
	}
	if err := writeRecord(q.dir, j); err != nil {
		// It is begun once more after a restart, and bears that.
		q.options.Logger.Error("a job ended, and that could not be written down", "job", j.ID, "cause", err)
	}
	_ = os.RemoveAll(q.scratch(j.ID)) // else it stays, under a name that nobody else gets
	q.forget()
}

func (q *Queue) scratch(id string) string { return filepath.Join(q.dir, id+".work") }

// forget drops the oldest jobs that have ended, beyond those to keep.
func (q *Queue) forget() {
	ended := 0
	for _, j := range q.jobs {
		if j.State.Ended() {
			ended++
		}
	}
	q.jobs = slices.DeleteFunc(q.jobs, func(j *Job) bool {
		if !j.State.Ended() || ended <= mostEnded {
			return false
		}
		ended--
		removeRecord(q.dir, j)
		return true
	})
}
