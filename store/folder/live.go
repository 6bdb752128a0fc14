package folder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/wal"
)

// Live is a collection that is searched and changed at the same time. It holds
// the collection's lock.
//
// A change is acknowledged when it is in the log and would survive a power cut:
// changes that arrive together share one sync (group commit). In the background
// the oldest changes are made into a segment, which is when searches see them;
// encoding is the slow part, and what waits for it is the backlog. Small
// segments are merged, one merge at a time (see MergePolicy).
//
// Its goroutines, the committer, the flusher and the merger, end with Close.
type Live struct {
	writer     *writer
	collection *Collection
	options    LiveOptions
	log        *wal.Log
	logUse     sync.Mutex // appending, rotating, pruning
	requests   chan *commitRequest
	committed  chan struct{} // closed when the committer has ended
	stop       context.CancelFunc
	ended      sync.WaitGroup
	structure  sync.RWMutex // held for writing while the set of experts changes

	mu           sync.Mutex
	encoders     map[string]store.PassageEncoder
	pending      pending
	applied      uint64        // the last change that searches see
	generation   uint64        // what they see
	wanted       uint64        // changes up to this number are flushed without waiting for more
	changed      chan struct{} // closed and replaced when any of the above changes
	flushTrouble error         // the last flush failed with it
	mergeTrouble error
	logTrouble   error // changes are refused with it; the committer writes it
	closed       bool
}

// LiveOptions say how a live collection behaves. Zero values are the defaults.
type LiveOptions struct {
	// Build's Experts must be those of the collection. Threads counts too.
	Build store.BuildOptions
	// FlushAfter is how long a change waits for others before it is made
	// visible.
	FlushAfter time.Duration
	// FlushPassages is the most passages that one flush makes visible; 0: no bound.
	// With slow encoders it bounds how long a change waits for earlier ones.
	FlushPassages int
	// MaxPending is how many changes may wait to be made visible before Apply
	// waits too; 0: no bound.
	MaxPending int
	// Merge says when segments are merged.
	Merge MergePolicy
	// Failed is called when a flush or a merge fails, or the log cannot be
	// written; it is tried again.
	Failed func(error)
	// Published is called after each new generation, from the goroutine that
	// made it.
	Published func(generation uint64)

	retry time.Duration // retryAfter, but in tests that have no time
}

// complete sets the defaults of fields that are zero, and clears those of Build that changes do not heed: Replace,
// Progress and BadPassage. It returns an error for impossible values.
func (o *LiveOptions) complete() error {
	o.FlushPassages, o.MaxPending = cmp.Or(o.FlushPassages, math.MaxInt), cmp.Or(o.MaxPending, math.MaxInt)
	if o.FlushAfter < 0 || o.FlushPassages < 0 || o.MaxPending < 0 {
		return fmt.Errorf(
			"live options below zero: flush after %v, %d passages, %d pending", o.FlushAfter, o.FlushPassages,
			o.MaxPending,
		)
	}
	if o.retry == 0 {
		o.retry = retryAfter
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	if o.Published == nil {
		o.Published = func(uint64) {}
	}
	o.Build.Replace, o.Build.Progress, o.Build.BadPassage = false, nil, nil
	return errors.Join(o.Merge.complete(), o.Build.Complete())
}

// OpenLive opens a collection for searching and changing: it takes its lock, reads its log and starts the goroutines.
// o.Build.Experts must be the encoders of all its experts. It returns ErrLocked if another writer has the collection.
// The caller closes it. It fails if a file cannot be opened or the log is damaged.
func OpenLive(dir string, o LiveOptions) (*Live, error) { return openLive(disk.OS{}, dir, o) }

// openLive opens a collection on the disk d for searching and changing: it takes its lock, reads its log and starts
// the committer, the flusher and the merger. If it fails, it gives the lock back and starts nothing.
func openLive(d disk.Disk, dir string, o LiveOptions) (_ *Live, err error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	l := &Live{
		options:   o,
		requests:  make(chan *commitRequest, 64),
		committed: make(chan struct{}),
		changed:   make(chan struct{}),
		encoders:  map[string]store.PassageEncoder{},
	}
	l.writer, err = openWriter(d, dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.writer.Close())
		}
	}()
	if err := l.writer.checkBuilt(); err != nil {
		return nil, err
	}
	m := l.writer.snapshot()
	if err := checkAnalyser(m, dir); err != nil {
		return nil, err
	}
	if err := matchExperts(dir, m, o.Build.Experts); err != nil {
		return nil, err
	}
	for _, e := range o.Build.Experts {
		l.encoders[e.Name()] = e
	}
	l.applied, l.generation = m.Applied, m.Generation
	now := time.Now()
	replay := func(seq uint64, kind wal.Kind, content []byte, at wal.ContentPlace) error {
		c := pendingChange{seq: seq, kind: kind, at: at}
		id := string(content)
		if kind.Alone() == wal.Put {
			var p corpus.Passage
			if err := p.UnmarshalBinary(content); err != nil {
				return err
			}
			c.version = p.Version()
			id = p.ID
		}
		l.pending.add(id, c, now)
		return nil
	}
	l.log, err = wal.Open(d, dir, m.ID, m.Applied, replay)
	if err != nil {
		return nil, err
	}
	if err := l.writer.openAll(); err != nil {
		return nil, errors.Join(err, l.log.Close())
	}
	l.collection = &Collection{dir: dir, files: l.writer.files, current: l.writer.pinned()}
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.ended.Go(func() { l.commitAll(ctx) })
	l.ended.Go(func() { l.flushAll(ctx) })
	l.ended.Go(func() { l.mergeAll(ctx) })
	return l, nil
}

// Collection returns the collection as searches see it; each generation is shown as it is published. Close of l closes
// it.
func (l *Live) Collection() *Collection { return l.collection }

// Close stops accepting changes and ends the goroutines. Acknowledged changes stay in the log; unfinished segments are
// made again the next time. Pinned generations stay open. A second call returns nil. It returns the errors of closing
// the files.
func (l *Live) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.mu.Unlock()
	l.stop()
	l.ended.Wait()
	return errors.Join(l.log.Close(), l.collection.Close(), l.writer.Close())
}

// tell wakes all callers of await. l.mu must be held.
func (l *Live) tell() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// await waits until ready returns true, which is called with l.mu held after each change of the state. It returns ctx's
// error if that ends first; if ready is true then too, it returns nil.
func (l *Live) await(ctx context.Context, ready func() bool) error {
	for {
		ended := ctx.Err()
		l.mu.Lock()
		done := ready()
		changed := l.changed
		l.mu.Unlock()
		switch {
		case done:
			return nil
		case ended != nil:
			return ended
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// Wait waits until searches see the change numbered seq and all before it, and starts a flush for it at once. With 0 it
// waits for everything that was acknowledged before. It fails only if ctx ends.
func (l *Live) Wait(ctx context.Context, seq uint64) error {
	if seq == 0 {
		return l.Flush(ctx)
	}
	return l.waitFor(ctx, seq)
}

// waitFor waits until searches see the change numbered seq and all before it, and has the flusher begin at once. It
// does not wait if they see it already, which is so for 0. It fails only if ctx ends.
func (l *Live) waitFor(ctx context.Context, seq uint64) error {
	l.mu.Lock()
	if seq > l.wanted {
		l.wanted = seq
		l.tell()
	}
	l.mu.Unlock()
	return l.await(ctx, func() bool { return l.applied >= seq })
}

// Flush makes everything that was acknowledged before visible to searches, and waits for that. It fails only if ctx
// ends.
func (l *Live) Flush(ctx context.Context) error {
	l.mu.Lock()
	last := l.applied
	if n := len(l.pending.queue); n > 0 {
		last = l.pending.queue[n-1].change.seq
	}
	l.mu.Unlock()
	return l.waitFor(ctx, last)
}

// Backlog returns how many changes wait to become visible, the age of the oldest, and what keeps the writer from
// working.
func (l *Live) Backlog() store.Backlog {
	l.logUse.Lock()
	bytes := l.log.Bytes()
	l.logUse.Unlock()
	segments := len(l.writer.snapshot().Segments)
	trouble := l.writer.trouble()
	l.mu.Lock()
	defer l.mu.Unlock()
	if trouble == nil {
		trouble = errors.Join(l.logTrouble, l.flushTrouble, l.mergeTrouble)
	}
	b := store.Backlog{Changes: len(l.pending.queue), LogBytes: bytes, Segments: segments, Trouble: trouble}
	if b.Changes > 0 {
		b.Oldest = time.Since(l.pending.queue[0].since)
	}
	return b
}

// Passage returns a passage and its version as acknowledged last, whether searches see it yet or not. ok is false if
// there is none or it was deleted. room is called once, with the passage's size in bytes, before the passage is read;
// Passage returns its error. If there is no passage, room is not called.
func (l *Live) Passage(
	ctx context.Context,
	id string,
	room func(bytes int) error,
) (p corpus.Passage, version string, ok bool, err error) {
	roomy := false
	take := func(bytes int) (err error) {
		if !roomy { // once, though it is read again
			err = room(bytes)
			roomy = true
		}
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return p, "", false, err
		}
		l.mu.Lock()
		change, waits := l.pending.latest[id]
		l.mu.Unlock()
		if !waits {
			p, ok, err = l.writer.passage(id, take)
			if !ok || err != nil {
				return p, "", false, err
			}
			return p, p.Version(), true, nil
		}
		if change.kind.Alone() == wal.Delete {
			return p, "", false, nil
		}
		if err := take(change.at.Length); err != nil {
			return p, "", false, err
		}
		p, err = change.passage()
		if errors.Is(err, os.ErrNotExist) {
			l.mu.Lock()
			now := l.pending.latest[id]
			l.mu.Unlock()
			if now.seq != change.seq {
				continue // it went into a segment in between, and its log is gone
			}
		}
		return p, change.version, err == nil, err
	}
}

// passage returns a passage of the newest published generation; ok is false if there is none. room is called with its
// size in bytes before it is read, and its error is returned.
func (w *writer) passage(id string, room func(bytes int) error) (p corpus.Passage, ok bool, err error) {
	g := w.pinned()
	defer g.drop()
	var o rank.Ordinal
	size := 0
	err = disk.Survive(func() error {
		o, ok, err = g.Ordinal(id)
		if err == nil && ok {
			size, err = g.Size(o)
		}
		return err
	})
	if err == nil && ok {
		err = room(size)
	}
	if err == nil && ok {
		err = disk.Survive(func() error {
			p, err = g.Passage(o)
			return err
		})
	}
	return p, ok && err == nil, err
}
