package jobs

import (
	"context"
	"slices"
	"time"
)

// Register keeps the jobs of a collection where every server finds them that may do them.
// Folder is that of a collection in a folder, Shared that of a store.
type Register interface {
	// Read returns the jobs as they are. Nobody changes what it returned.
	Read(ctx context.Context) (*Ledger, error)
	// Change changes the jobs as they are now, and returns when that would survive a power
	// cut. change may be called again where another server was faster; its error ends it.
	// With an *UnwrittenError the jobs were changed for this process alone.
	Change(ctx context.Context, change func(*Ledger) error) error
	// Hold does work as the only server that works on the jobs. Where another one does it is a
	// *lease.HeldError, also as the cause of the end of work's context, once it is lost.
	Hold(ctx context.Context, work func(context.Context) error) error
	// Scratch returns a path for what the work of a job leaves for its next attempt; it is
	// removed when the job has ended. "": there is no place that every server has.
	Scratch(id string) string
}

// Ledger is all jobs, the oldest first.
type Ledger struct {
	Next uint64 `json:"next"` // number of the next job, from 1
	// Worker is the token of the server that works or worked last: no other one changes a job
	// that runs.
	Worker string    `json:"worker"`
	Jobs   []*Record `json:"jobs"`
}

// Record is a job, and whether somebody wants it to end.
type Record struct {
	Job
	Cancel bool `json:"cancel,omitempty"`
}

// UnwrittenError says that a change of jobs holds in this process, and is lost when that ends:
// a job is then begun once more, which it bears.
type UnwrittenError struct{ Err error }

func (e *UnwrittenError) Error() string { return "that could not be written down: " + e.Err.Error() }
func (e *UnwrittenError) Unwrap() error { return e.Err }

// findRecord returns the record of the job with this id; nil if there is none.
func (l *Ledger) findRecord(id string) *Record {
	if at := slices.IndexFunc(l.Jobs, func(j *Record) bool { return j.ID == id }); at >= 0 {
		return l.Jobs[at]
	}
	return nil
}

// oldestOpen returns the oldest job that has not ended; nil if all have.
func (l *Ledger) oldestOpen() *Record {
	if at := slices.IndexFunc(l.Jobs, func(j *Record) bool { return !j.State.Ended() }); at >= 0 {
		return l.Jobs[at]
	}
	return nil
}

// endJob sets a job's state, one for which Ended is true, and the time. It removes the oldest ended jobs if there are
// more than mostEnded.
func (l *Ledger) endJob(j *Record, state State) {
	now := time.Now().UTC()
	j.State = state
	j.Ended = &now
	j.Progress = nil
	j.Cancel = false
	ended := 0
	for _, j := range l.Jobs {
		if j.State.Ended() {
			ended++
		}
	}
	l.Jobs = slices.DeleteFunc(l.Jobs, func(j *Record) bool {
		if !j.State.Ended() || ended <= mostEnded {
			return false
		}
		ended--
		return true
	})
}

// copyLedger returns a copy of the ledger and its records, which can be changed without changing l.
func (l *Ledger) copyLedger() *Ledger {
	out := *l
	out.Jobs = make([]*Record, len(l.Jobs))
	for i, j := range l.Jobs {
		record := *j
		out.Jobs[i] = &record
	}
	return &out
}

// checkRequest returns a *Refusal if the ledger cannot take one more job: a job for the same name has not ended
// (snapshots conflict only with snapshots, and other kinds only with other kinds), or mostWaiting jobs have not ended.
func (l *Ledger) checkRequest(r Request) error {
	waiting := 0
	for _, j := range l.Jobs {
		if j.State.Ended() {
			continue
		}
		if waiting++; j.Name == r.Name && (j.Kind == Snapshot) == (r.Kind == Snapshot) {
			const detail = "job %s (%s) is about %q and has not ended: see /v1/jobs/%s"
			return Refuse("job_under_way", detail, j.ID, j.Kind, j.Name, j.ID)
		}
	}
	if waiting >= mostWaiting {
		return Refuse("too_many_jobs", "%d jobs wait already", waiting)
	}
	return nil
}
