package jobs

import (
	"context"
	"slices"
	"time"
)

// Register stores the jobs of a collection where every server that may do them finds them. Folder is the register of a
// collection in a folder, SharedRegister that of a collection in a cluster.
type Register interface {
	// Read returns the jobs as they are now. The caller may keep the ledger and must not change it.
	Read(ctx context.Context) (*Ledger, error)
	// Change calls change with the present jobs and stores what it makes of them, durably when Change returns nil. It
	// calls change again if another server was faster. It returns change's error, without storing anything, or an
	// *UnwrittenError if the change holds in this process alone.
	Change(ctx context.Context, change func(*Ledger) error) error
	// Hold calls work while no other server works on the jobs, and returns its error. If another server does, it
	// returns a *lease.HeldError without calling work. If another one takes over, work's context ends with that error
	// as its cause.
	Hold(ctx context.Context, work func(context.Context) error) error
	// Scratch returns a path where a job may leave a file or folder for its next attempt; it is removed when the job
	// has ended. It is "" if there is no place that every server can reach.
	Scratch(id string) string
}

// Ledger is the list of all jobs, the oldest first.
type Ledger struct {
	Next uint64 `json:"next"` // number of the next job, from 1
	// Worker is the token of the server that works on the jobs, or did so last. Only that server changes a running
	// job; others may ask to cancel it.
	Worker string    `json:"worker"`
	Jobs   []*Record `json:"jobs"`
}

// Record is a job with the request to cancel it.
type Record struct {
	Job
	Cancel bool `json:"cancel,omitempty"`
}

// UnwrittenError is the error of a change that this process knows and could not store: if the process ends, the change
// is lost, and a job may be done once more.
type UnwrittenError struct{ Err error }

// Error says what could not be stored.
func (e *UnwrittenError) Error() string { return "that could not be written down: " + e.Err.Error() }

// Unwrap returns the error of writing.
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
			const detail = "job %s (%s) works on %q and has not ended: see /v1/jobs/%s"
			return Refuse("job_under_way", detail, j.ID, j.Kind, j.Name, j.ID)
		}
	}
	if waiting >= mostWaiting {
		return Refuse("too_many_jobs", "%d jobs are waiting already, which is the limit", waiting)
	}
	return nil
}
