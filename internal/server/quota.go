package server

import (
	"context"
	"sync"
	"time"

	"example.org/conclave/handlers"
	"example.org/conclave/internal/collections"
	"example.org/conclave/store"
)

// quotaWriter is a writer that refuses passages above the collection's quotas. Deletions and replacements always pass
// the quota of passages.
type quotaWriter struct {
	store.Writer
	quotas collections.Quotas
	count  func(context.Context) (passages int, err error) // that searches see by now
	bytes  func() int64                                    // of the segments, or the shards

	// all is held for reading by changes that are far from the quota, and for writing by one that has
	// to be counted passage by passage.
	all sync.RWMutex

	mu      sync.Mutex
	counted int // passages, when they were counted last
	since   int // passages put by changes that have ended since, whatever became of them
	going   int // passages put by changes that are under way
}

// MostWait returns how long requests wait at most until searches see a change; 0: no limit (handlers.BoundedWriter).
func (q *quotaWriter) MostWait() time.Duration { return mostWait(q.Writer) }

// mostWait returns how long requests wait at most until searches see a change of the writer; 0, no limit, unless it
// is a handlers.BoundedWriter.
func mostWait(w store.Writer) time.Duration {
	if bounded, ok := w.(handlers.BoundedWriter); ok {
		return bounded.MostWait()
	}
	return 0
}

// Apply makes changes in their order and returns a result for each. It returns a *store.QuotaError, and makes none,
// if they would exceed a quota of the collection.
func (q *quotaWriter) Apply(ctx context.Context, changes []store.Change) ([]store.ChangeResult, error) {
	return q.applyWithin(ctx, changes, q.Writer.Apply)
}

// ApplyTogether makes all changes or none, so that searches see them at once. It returns a *store.QuotaError, and
// makes none, if they would exceed a quota of the collection.
func (q *quotaWriter) ApplyTogether(ctx context.Context, changes []store.Change) ([]store.ChangeResult, error) {
	return q.applyWithin(ctx, changes, q.Writer.ApplyTogether)
}

// applyWithin calls apply with changes, or returns a *store.QuotaError if their puts would exceed a quota; deletions
// alone always pass. Far from the quota of passages it only adds up puts, so that changes run at the same time; near
// it, it waits for the others, and counts the collection.
func (q *quotaWriter) applyWithin(
	ctx context.Context,
	changes []store.Change,
	apply func(context.Context, []store.Change) ([]store.ChangeResult, error),
) ([]store.ChangeResult, error) {
	puts := 0
	size := int64(0)
	for _, c := range changes {
		if c.Put != nil {
			puts++
			size += int64(len(c.Put.ID) + len(c.Put.Title) + len(c.Put.Text))
		}
	}
	if puts == 0 {
		return apply(ctx, changes)
	}
	if most := q.quotas.Bytes; most > 0 {
		if has := q.bytes() + q.Backlog().LogBytes; has+size > most {
			return nil, &store.QuotaError{Of: "bytes", Most: most, Has: has, More: size}
		}
	}
	if q.quotas.Passages == 0 {
		return apply(ctx, changes)
	}
	q.all.RLock()
	leave, near := q.countPuts(puts)
	if !near {
		defer q.all.RUnlock()
		defer leave()
		return apply(ctx, changes)
	}
	q.all.RUnlock()
	q.all.Lock()
	defer q.all.Unlock()
	more, err := q.countGrowth(ctx, changes)
	if err != nil {
		return nil, err
	}
	if err := q.Wait(ctx, 0); err != nil {
		return nil, err
	}
	has, err := q.count(ctx)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	q.counted, q.since = has, puts // nothing is under way
	q.mu.Unlock()
	if most := q.quotas.Passages; more > 0 && has+more > most {
		return nil, &store.QuotaError{Of: "passages", Most: int64(most), Has: int64(has), More: int64(more)}
	}
	return apply(ctx, changes)
}

// countPuts counts puts as under way; the caller calls leave when they are done. If they might exceed the quota, near
// is true, leave is nil, and they are not counted.
func (q *quotaWriter) countPuts(puts int) (leave func(), near bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.counted+q.since+q.going+puts > q.quotas.Passages {
		return nil, true
	}
	q.going += puts
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.going -= puts
		q.since += puts
	}, false
}

// countGrowth returns by how many passages the changes, made in their order, would make the collection larger;
// negative if smaller. It looks up the id of each change once. It fails if an id cannot be looked up.
func (q *quotaWriter) countGrowth(ctx context.Context, changes []store.Change) (more int, err error) {
	there := map[string]bool{}
	for _, c := range changes {
		id := c.Delete
		if c.Put != nil {
			id = c.Put.ID
		}
		was, known := there[id]
		if !known {
			_, _, was, err = q.Passage(ctx, id, func(int) error { return nil }) // one at a time
			if err != nil {
				return 0, err
			}
		}
		is := c.Put != nil
		switch {
		case is && !was:
			more++
		case was && !is:
			more--
		}
		there[id] = is
	}
	return more, nil
}
