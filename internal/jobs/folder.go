package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"example.org/conclave/internal/disk"
)

// Folder is the Register of a collection in a folder, with a file for each job. Only the process that has the
// collection open for writing has a Folder of it, so the next process takes up the jobs of one that died at once.
type Folder struct {
	dir     string
	disk    disk.Disk
	damaged []string
	working sync.Mutex // held by who works

	mu     sync.Mutex
	ledger *Ledger         // replaced, never changed
	behind map[string]bool // ids of jobs whose files are not what they are
}

// OpenFolder returns the register of the jobs in dir, which need not exist. Jobs that had not ended are queued again.
// Damaged records are renamed, logged, and listed by Damaged. It fails if dir cannot be read.
func OpenFolder(d disk.Disk, dir string, log *slog.Logger) (*Folder, error) {
	f := &Folder{dir: dir, disk: d, ledger: &Ledger{}, behind: map[string]bool{}}
	var err error
	f.ledger.Jobs, f.ledger.Next, f.damaged, err = readRecords(d, dir)
	if err != nil {
		return nil, fmt.Errorf("reading the jobs in %s: %w", dir, err)
	}
	for _, path := range f.damaged {
		const detail = "the record of a job is damaged: the job is not done; ask for it again, and remove the file"
		log.Error(detail, "file", path)
	}
	for _, j := range f.ledger.Jobs {
		if !j.State.Ended() {
			j.State, j.Progress = Queued, nil
		}
	}
	return f, nil
}

// Damaged returns the paths of the records that were damaged when the folder was opened. Their jobs are not done. An
// operator has to remove the files.
func (f *Folder) Damaged() []string { return f.damaged }

// Read returns a copy of the list of jobs as they are now. It never fails. The results and other pointers in it are
// shared, and must not be changed.
func (f *Folder) Read(context.Context) (*Ledger, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ledger.copyLedger(), nil
}

// Change calls change with a copy of the jobs, and writes the records that it changed to disk. If change fails, or
// the record of a new job cannot be written, nothing changes and the error is returned. If another record cannot be
// written, the change holds in memory, the error is an *UnwrittenError, and the next Change writes the record again:
// a full disk keeps no job from ending.
func (f *Folder) Change(_ context.Context, change func(*Ledger) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := f.ledger.copyLedger()
	if err := change(next); err != nil {
		return err
	}
	var behind []error
	for _, j := range next.Jobs {
		was := f.ledger.findRecord(j.ID)
		if was != nil && !f.behind[j.ID] && sameRecord(was, j) {
			continue
		}
		err := writeRecord(f.disk, f.dir, j)
		if err != nil && was == nil {
			removeRecord(f.disk, f.dir, j.ID) // it may be there, and not durable
			return fmt.Errorf("writing job %s down: %w", j.ID, err)
		}
		if err != nil {
			f.behind[j.ID] = true
			behind = append(behind, err)
		} else {
			delete(f.behind, j.ID)
		}
		if j.State.Ended() {
			_ = f.disk.RemoveAll(f.Scratch(j.ID)) // else it stays, under a name that nobody else gets
		}
	}
	for _, j := range f.ledger.Jobs {
		if next.findRecord(j.ID) == nil {
			removeRecord(f.disk, f.dir, j.ID)
			delete(f.behind, j.ID)
		}
	}
	f.ledger = next
	if err := errors.Join(behind...); err != nil {
		return &UnwrittenError{err}
	}
	return nil
}

// sameRecord reports whether the files of two jobs have the same content.
func sameRecord(a, b *Record) bool {
	first, err := encodeRecord(a)
	second, again := encodeRecord(b)
	return err == nil && again == nil && bytes.Equal(first, second)
}

// errWorking is the error of Hold if another queue of this process works on the jobs.
var errWorking = errors.New("another process works on the jobs already")

// Hold calls work and returns its error. It returns errWorking at once, without calling work, if another queue of
// this process holds the same Folder. Other processes need no lock here: only one can write to the folder.
func (f *Folder) Hold(ctx context.Context, work func(context.Context) error) error {
	if !f.working.TryLock() {
		return errWorking
	}
	defer f.working.Unlock()
	return work(ctx)
}

// Scratch returns the path ID.work in the folder, where the job id may leave a file or folder for its next attempt.
// Nothing is created. What is there is removed when the job ends.
func (f *Folder) Scratch(id string) string { return filepath.Join(f.dir, id+".work") }
