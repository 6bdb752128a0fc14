package backend

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"syscall"
	"time"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
	"example.org/conclave/store/folder/ahead"
)

// Write takes the collection's lock and returns a writer. It replaces the read-only collection by one that is
// searched and written to, so call it before the first search. The error is a *store.WriteError if another writer has
// the lock or the folder cannot be written.
func (b *backend) Write(_ context.Context, o store.WriteOptions) (store.Writer, error) {
	live, err := folder.OpenLive(b.dir, folder.LiveOptions{
		Build:      store.BuildOptions{Experts: o.Encoders, Shared: o.Shared, Threads: o.Threads},
		FlushAfter: o.FlushAfter, FlushPassages: o.FlushPassages, MaxPending: o.Backlog,
		Merge:  folder.MergePolicy{Threads: o.Threads},
		Failed: o.Failed,
	})
	switch {
	case errors.Is(err, folder.ErrLocked), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return nil, &store.WriteError{Err: err}
	case err != nil:
		return nil, err
	}
	b.mu.Lock()
	reading := b.collection
	b.live = live
	b.collection = live.Collection()
	b.mu.Unlock()
	return writer{live, b}, reading.Close()
}

// writer changes a collection that is live.
type writer struct {
	*folder.Live
	backend *backend
}

// lookAtBacklog is the time between two calls of waiting by Visible.
const lookAtBacklog = 2 * time.Second

// Visible waits until searches see all that was acknowledged before. If waiting is not nil, it is called every
// lookAtBacklog with what is still to do, and its error ends the wait and is returned.
func (w writer) Visible(ctx context.Context, waiting func(store.Backlog) error) error {
	if waiting == nil {
		return w.Flush(ctx)
	}
	for {
		some, cancel := context.WithTimeout(ctx, lookAtBacklog)
		err := w.Flush(some)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		if err := waiting(w.Backlog()); err != nil {
			return err
		}
	}
}

// Selected returns the passages of the newest generation that a filter lets through. Close it. It fails with a
// *conditions.MisfitError if the filter's values do not fit the fields.
func (w writer) Selected(_ context.Context, f storage.Filter) (store.SelectedPassages, error) {
	g := w.Collection().Acquire()
	wrong, err := g.Misfits(&f.Where)
	if err == nil && wrong != nil {
		err = &conditions.MisfitError{Problems: wrong}
	}
	var selection *folder.Selection
	if err == nil {
		selection, err = g.SelectWhere(folder.Condition{
			TagsAll: f.TagsAll, TagsAny: f.TagsAny, Documents: f.Documents, Fields: f.Where,
		})
	}
	if err != nil {
		g.Release()
		return nil, err
	}
	t := &selectedPassages{generation: g, total: int64(selection.Len())}
	t.next, t.stop = iter.Pull(selection.Ordinals())
	return t, nil
}

// selectedPassages is the passages of a selection.
type selectedPassages struct {
	generation *folder.Generation
	total      int64
	next       func() (rank.Ordinal, bool)
	stop       func()
}

// Next returns the next passage, and io.EOF after the last.
func (t *selectedPassages) Next() (corpus.Passage, error) {
	ordinal, ok := t.next()
	if !ok {
		return corpus.Passage{}, io.EOF
	}
	return t.generation.Passage(ordinal)
}

// Total returns the number of passages.
func (t *selectedPassages) Total() int64 { return t.total }

// Close releases the generation that the passages are read from. It must be called exactly once, and Next not after it.
// The error is always nil.
func (t *selectedPassages) Close() error {
	t.stop()
	t.generation.Release()
	return nil
}

// Experts returns an object that adds and removes experts of the collection while it is served. The error is always
// nil.
func (w writer) Experts() (store.ServedExperts, error) { return servedExperts{w.Live}, nil }

type servedExperts struct{ live *folder.Live }

// Add encodes all passages with one more expert while searches and changes go on, and returns when searches have it. It
// keeps the vectors in the file scratch, so that a call with the same file after an interruption goes on. o.Progress
// may be nil. It fails if encoding, writing or publishing does.
func (x servedExperts) Add(
	ctx context.Context,
	e store.PassageEncoder,
	scratch string,
	o store.BuildOptions,
) (store.BuildReport, error) {
	report := o.Progress
	if report == nil {
		report = func(store.Progress) {}
	}
	return ahead.AddExpert(ctx, x.live, e, scratch, o, report)
}

// Remove removes an expert's vectors; searches under way still have them. It fails if there is none of that name, or
// another expert searches its vectors.
func (x servedExperts) Remove(ctx context.Context, name string) error {
	return x.live.RemoveExpert(ctx, name)
}

// Snapshots returns an object that copies the collection into folders. The error is always nil.
func (w writer) Snapshots() (store.Snapshots, error) { return snapshots{w.Live}, nil }

type snapshots struct{ live *folder.Live }

// Check returns an error if no snapshot can be made as this folder.
func (s snapshots) Check(path string) error { return folder.CheckSnapshot(path) }

// NewID returns an id that no other snapshot has.
func (s snapshots) NewID() string { return folder.NewID() }

// Make makes all acknowledged changes visible, copies the collection into the new folder path, and returns what the
// copy has. id becomes the copy's identity. It fails if path is not a new or empty folder on the same file system, or
// ctx ends.
func (s snapshots) Make(ctx context.Context, path, id string) (store.Snapshot, error) {
	made, err := s.live.Snapshot(ctx, path, id)
	return store.Snapshot{ID: id, Generation: made.Generation, Passages: made.Passages, Bytes: made.Bytes}, err
}

// Read returns what the snapshot in a folder has. It fails if there is none.
func (s snapshots) Read(path string) (found store.Snapshot, err error) {
	c, err := folder.Open(path)
	if err != nil {
		return found, err
	}
	g := c.Acquire()
	found = store.Snapshot{ID: c.ID(), Generation: g.Number(), Passages: g.Len()}
	g.Release()
	return found, c.Close()
}
