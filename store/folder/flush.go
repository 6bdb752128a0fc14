package folder

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
	"example.org/conclave/store/folder/internal/wal"
)

// retryAfter is the wait before a failed flush, merge or write to the log is tried again. It
// doubles with each failure, up to retryMost times retryAfter.
const (
	retryAfter = time.Second
	retryMost  = 60
)

// flushAll is the flusher's goroutine: it flushes the oldest pending changes whenever there is reason to (awaitFlush),
// until ctx ends. After a failure it waits, longer each time.
func (l *Live) flushAll(ctx context.Context) {
	wait := l.options.retry
	for l.awaitFlush(ctx) == nil {
		err := l.flush(ctx)
		if ctx.Err() != nil {
			return
		}
		l.note(&l.flushTrouble, err)
		l.pause(ctx, err, &wait)
	}
}

// pause waits for *wait after an error, or until ctx ends, and doubles *wait up to retryMost times the first wait.
// Without an error it resets *wait and returns at once.
func (l *Live) pause(ctx context.Context, err error, wait *time.Duration) {
	if err == nil {
		*wait = l.options.retry
		return
	}
	select {
	case <-time.After(*wait):
		*wait = min(2**wait, retryMost*l.options.retry)
	case <-ctx.Done():
	}
}

// note sets *trouble, one of l's fields of that kind, to the outcome of the last flush, merge or use of the log. It
// passes an error to Options.Failed; nil clears the trouble.
func (l *Live) note(trouble *error, err error) {
	l.mu.Lock()
	*trouble = err
	l.mu.Unlock()
	if err != nil {
		l.options.Failed(err)
	}
}

// awaitFlush waits until there is reason to flush: enough pending changes, one older than FlushAfter, or a caller that
// waits for one. It returns ctx's error if that ends first.
func (l *Live) awaitFlush(ctx context.Context) error {
	for {
		l.mu.Lock()
		changed := l.changed
		due := time.Duration(-1)
		if n := len(l.pending.queue); n > 0 {
			oldest := l.pending.queue[0]
			due = max(0, l.options.FlushAfter-time.Since(oldest.since))
			if n >= l.options.FlushPassages || oldest.change.seq <= l.wanted {
				due = 0
			}
		}
		l.mu.Unlock()
		if due == 0 {
			return ctx.Err()
		}
		var timer <-chan time.Time
		if due > 0 {
			timer = time.After(due)
		}
		select {
		case <-changed:
		case <-timer:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// flush makes a segment of the oldest pending changes, publishes and shows it, and removes log files that are no
// longer needed. Without changes it only does the last. If it fails, the changes stay pending.
func (l *Live) flush(ctx context.Context) error {
	l.structure.RLock()
	defer l.structure.RUnlock()
	if err := l.resolveOutcome(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	changes, last := l.pending.oldest(l.options.FlushPassages)
	encoders := slices.Collect(maps.Values(l.encoders))
	l.mu.Unlock()
	if len(changes) > 0 {
		l.logUse.Lock()
		l.log.Rotate()
		l.logUse.Unlock()
		if err := disk.Survive(func() error {
			return l.writer.flush(ctx, changes, last, encoders, l.options.Build)
		}); err != nil {
			return fmt.Errorf("making %d changes visible: %w", len(changes), err)
		}
		l.show(ctx)
	}
	l.logUse.Lock()
	defer l.logUse.Unlock()
	return l.log.Prune(l.writer.snapshot().Applied)
}

// resolveOutcome finds out which generation counts if the writer does not know, and shows it if it is newer than the
// one that searches see. It fails if that cannot be found out.
func (l *Live) resolveOutcome(ctx context.Context) error {
	if err := l.writer.resolveOutcome(); err != nil {
		return err
	}
	l.mu.Lock()
	shown := l.generation
	l.mu.Unlock()
	if l.writer.snapshot().Generation > shown {
		l.show(ctx)
	}
	return nil
}

// show makes the newest published generation the one that searches see, drops its changes from the pending ones, and
// calls options.Published. It first reads what is new in it, so that no search waits for that.
func (l *Live) show(ctx context.Context) {
	next := l.writer.pinned()
	m := next.manifest
	first := l.collection.replace(next, func(before *Generation) {
		_ = next.verifyVectors(ctx, before) // searches report damage
	})
	// Where another goroutine has shown it, that one may not have come to this yet; then the next flush would
	// take changes again whose log is gone.
	l.mu.Lock()
	l.pending.drop(m.Applied)
	l.applied, l.generation = max(l.applied, m.Applied), max(l.generation, m.Generation)
	l.tell()
	l.mu.Unlock()
	if first {
		l.options.Published(m.Generation)
	}
}

// flush publishes changes, by the ids of their passages: the ones put as a new segment, and tombstones for those that
// are replaced or deleted. last is the number of the last change. If it fails, nothing is published, or the outcome is
// unknown (store.ErrUnsettled).
func (w *writer) flush(
	ctx context.Context,
	changes map[string]pendingChange,
	last uint64,
	encoders []store.PassageEncoder,
	o store.BuildOptions,
) (err error) {
	plan := w.snapshot()
	var put []string
	for id, c := range changes {
		if c.kind.Alone() == wal.Put {
			put = append(put, id)
		}
	}
	slices.Sort(put)
	made := w.draft()
	defer made.discard()
	var s manifest.Segment
	if len(put) > 0 {
		texts, err := pendingPassages(put, changes)
		if err != nil {
			return err
		}
		now := w.pinned()
		defer now.drop()
		known, err := now.reusable(maps.Keys(changes))
		if err != nil {
			return err
		}
		maker := w.encoded(plan, encoders, o)
		sharing := o
		sharing.Shared = known.shared(o.Shared, texts)
		maker.vectors = encodedTogether(plan, known.encoders(encoders, texts), sharing)
		fill := func(dir string) (passages, error) {
			return texts, writeStore(ctx, w.disk, filepath.Join(dir, storeName), texts)
		}
		s, err = w.makeSegment(ctx, made, plan, maker, o, &reporter{}, fill)
		if err != nil {
			return err
		}
	}
	_, err = w.publish(ctx, made, func(m *manifest.Manifest) error {
		if _, err := w.bury(ctx, made, m, maps.Keys(changes)); err != nil {
			return err
		}
		if len(put) > 0 {
			if m.Words != plan.Words {
				return errWordsChanged
			}
			m.Segments = append(m.Segments, s)
		}
		m.Applied = last
		return nil
	})
	return err
}

// checkNonePending returns an error (errPending) if the collection's log has changes that no segment holds. Such
// changes would overwrite newer ones later.
func (w *writer) checkNonePending() error {
	m := w.snapshot()
	n := 0
	if err := wal.Each(w.disk, w.dir, m.ID, m.Applied, func(uint64, wal.Kind, []byte, wal.ContentPlace) error {
		n++
		return nil
	}); err != nil {
		return err
	}
	if n > 0 {
		return fmt.Errorf("%s has %w: start the server once to let them in (%d)", w.dir, errPending, n)
	}
	return nil
}

// errPending is the error when a collection has changes that were acknowledged
// and are not yet in a segment.
var errPending = errors.New("changes that were acknowledged and are not yet indexed")
