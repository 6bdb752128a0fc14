package store

import (
	"context"
	"fmt"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/storage"
)

// WriteOptions say how a store is written to.
type WriteOptions struct {
	// Encoders are those of all experts of the store, and Shared those of them that one run serves.
	Encoders []PassageEncoder
	Shared   []SharedPass
	Threads  int // for building indexes; 0: all processors
	// FlushAfter is how long a change waits for others before searches see it, FlushPassages the
	// most that become visible together (0: no bound), and Backlog how many may wait before more
	// are held up (0: no bound).
	FlushAfter    time.Duration
	FlushPassages int
	Backlog       int
	// Failed is called when what was acknowledged could not be made visible, which is tried again.
	Failed func(error)
}

// Writer changes what is in a store while it is searched.
type Writer interface {
	// Apply makes changes, in their order, and returns when they are safe. It waits while the
	// backlog is full.
	Apply(ctx context.Context, changes []Change) ([]ChangeResult, error)
	// ApplyTogether makes all changes or none, and searches see all of them or none.
	ApplyTogether(ctx context.Context, changes []Change) ([]ChangeResult, error)
	// Passage reads a passage as it was acknowledged last. room waits until there is memory for
	// one of so many bytes; its error ends the reading.
	Passage(ctx context.Context, id string, room func(bytes int) error) (
		p corpus.Passage, version string, ok bool, err error)
	// Wait waits until searches see the change with the number seq; 0: everything that was
	// acknowledged before.
	Wait(ctx context.Context, seq uint64) error
	// Visible waits until searches see everything that was acknowledged before. Where that takes
	// long, waiting is called now and then with what there is still to do; its error ends it.
	// Nil: nobody asks.
	Visible(ctx context.Context, waiting func(Backlog) error) error
	Backlog() Backlog
	// Selected returns the passages that searches see and that a filter lets through, by its tags, its documents and
	// what Where says. The error is a *conditions.MisfitError where values do not fit.
	Selected(ctx context.Context, f storage.Filter) (SelectedPassages, error)
	// TogetherBytes is how much ApplyTogether takes of any passages; 0: it takes those of one document alone.
	TogetherBytes() int

	// Experts returns what adds and removes experts while the store is served.
	Experts() (ServedExperts, error)
	// Snapshots returns what copies the collection into folders of this machine.
	Snapshots() (Snapshots, error)
}

// SelectedPassages is passages that a filter lets through, one after the other.
type SelectedPassages interface {
	// Next returns the next one; io.EOF behind the last.
	Next() (corpus.Passage, error)
	// Total returns how many there are, once Next was called.
	Total() int64
	Close() error
}

// ServedExperts changes the experts of a store while it is served.
type ServedExperts interface {
	// Add encodes all passages with one more expert. What was encoded is kept in the file
	// scratch, so that an interrupted Add can be called again.
	Add(ctx context.Context, e PassageEncoder, scratch string, o BuildOptions) (BuildReport, error)
	Remove(ctx context.Context, name string) error
}

// Snapshots makes and reads copies of a collection, each in a folder of its own.
type Snapshots interface {
	// Check returns an error where no snapshot can be made as this folder.
	Check(path string) error
	// NewID returns an id for a snapshot, by which it is recognised.
	NewID() string
	// Make makes a copy of what searches see.
	Make(ctx context.Context, path, id string) (Snapshot, error)
	// Read describes a snapshot; an error where the folder is none.
	Read(path string) (Snapshot, error)
}

// Snapshot is what a snapshot holds.
type Snapshot struct {
	ID         string
	Generation uint64
	Passages   int
	Bytes      int64 // that it shares with the collection; of one that was just made
}

// WriteError is the error of a process that may not write to a store, or not while another one
// does. One that only reads could open it.
type WriteError struct{ Err error }

// Error returns the text of Err.
func (e *WriteError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// QuotaError is the error of changes by which a collection would have more than it may. None was made.
type QuotaError struct {
	Of              string // "passages" or "bytes"
	Most, Has, More int64
}

// Error says what the collection may have, what it has, and how much more was to be added.
func (e *QuotaError) Error() string {
	return fmt.Sprintf("the collection may have %d %s: it has %d, and this is %d more", e.Most, e.Of, e.Has, e.More)
}

// ElsewhereError is the error of something that a store cannot do while it is served; Instead says
// how it is done.
type ElsewhereError struct{ Instead string }

// Error returns Instead: how to do it.
func (e *ElsewhereError) Error() string { return e.Instead }
