package folder

import (
	"context"
	"fmt"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/wal"
)

// commitBytes is the most bytes that are committed as one group, so that a change
// does not wait long for others.
const commitBytes = 8 << 20

// maxApply is the most bytes that the changes of one Apply may have, so that a
// group fits into a record of the log.
const maxApply = 24 << 20

// maxTogether is the most bytes that the changes of one ApplyTogether may have.
const maxTogether = 48 << 20

// TogetherBytes returns the most bytes that the changes of one ApplyTogether may have.
func (l *Live) TogetherBytes() int { return maxTogether }

// commitRequest is the changes of one Apply on their way through the committer. It
// holds no memory of the caller, which may return before the commit is done.
type commitRequest struct {
	changes  []ready
	together bool // all of them or none, and searches see all of them at once
	results  []store.ChangeResult
	bytes    int
	err      error
	done     chan struct{}
}

// ready is a change that is encoded for the log. change has the caller's
// condition; of a passage that is put it has only the id.
type ready struct {
	wal.Change
	version string       // of a passage that is put
	change  store.Change // of the passage the id alone
}

// prepare checks and encodes changes. An invalid passage's error is in its result. It returns store.ErrTooMuch if the
// changes have more than most bytes. It runs in the caller's goroutine, so that the committer has little to do but to
// write.
func prepare(changes []store.Change, most int) (*commitRequest, error) {
	r := &commitRequest{
		changes: make([]ready, len(changes)),
		results: make([]store.ChangeResult, len(changes)),
		done:    make(chan struct{}),
	}
	for i := range changes {
		c, out := &changes[i], &r.results[i]
		r.changes[i] = ready{Change: wal.Change{Kind: wal.Delete, Content: []byte(c.Delete)}, change: *c}
		out.ID = c.ID()
		if c.Put != nil {
			r.changes[i].change.Put = &corpus.Passage{ID: c.Put.ID}
			out.Err = c.Put.Check()
			if out.Err != nil {
				continue
			}
			var content []byte
			content, out.Err = c.Put.AppendBinary(nil)
			if out.Err != nil {
				continue
			}
			r.changes[i].Change = wal.Change{Kind: wal.Put, Content: content}
			r.changes[i].version = corpus.VersionOf(content)
		}
		r.bytes += len(r.changes[i].Content)
		if r.bytes > most { // the others are not encoded
			return nil, fmt.Errorf(
				"%w: %d changes of more than %d bytes, which are allowed: make fewer at a time", store.ErrTooMuch,
				len(changes), most,
			)
		}
	}
	return r, nil
}

// Apply makes changes, in this order, and returns when they would survive a power cut. Searches see them later (Wait).
// The result of a change has its error, such as a condition that is not met, which concerns that change alone. It makes
// none and returns store.ErrTooMuch if they have more than maxApply bytes. After another error, such as store.ErrClosed
// or ctx's, it is unknown which changes were made. It waits while the backlog is full, at most until ctx ends. Changes
// of one Apply that returned before another was called are made first. Applies that run at the same time share a sync.
func (l *Live) Apply(ctx context.Context, changes []store.Change) ([]store.ChangeResult, error) {
	r, err := prepare(changes, maxApply)
	if err != nil {
		return nil, err
	}
	return l.submit(ctx, r)
}

// submit passes prepared changes to the committer and returns its results once they are durable. It waits while the
// backlog is full. It returns store.ErrClosed if the collection is closed, and ctx's error if that ends first; then the
// changes may still be made.
func (l *Live) submit(ctx context.Context, r *commitRequest) ([]store.ChangeResult, error) {
	closed := false
	err := l.await(ctx, func() bool {
		closed = l.closed
		return closed || len(l.pending.queue) < l.options.MaxPending
	})
	if err != nil {
		return nil, err
	}
	if closed {
		return nil, store.ErrClosed
	}
	select {
	case l.requests <- r:
	case <-l.committed:
		return nil, store.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.committed:
		select {
		case <-r.done: // just in time
		default:
			return nil, store.ErrClosed
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.results, nil
}

// commitAll is the committer's goroutine: it takes all requests that wait, up to commitBytes, commits them as one
// group, answers them and begins again, until ctx ends. While none comes it calls tendLog from time to time. It then
// closes l.committed.
func (l *Live) commitAll(ctx context.Context) {
	defer close(l.committed)
	wait := l.options.retry
	quiet := true
	for {
		var group []*commitRequest
		var again <-chan time.Time
		switch {
		case l.logTrouble != nil: // nobody else changes it
			again = time.After(wait)
		case !quiet:
			again = time.After(confirmAfter)
			wait = l.options.retry
		}
		select {
		case r := <-l.requests:
			group = append(group, r)
		case <-again:
			wait = min(2*wait, retryMost*l.options.retry)
		case <-ctx.Done():
			return
		}
		if group == nil {
			l.tendLog(ctx)
			quiet = true
			continue
		}
		quiet = false
		for bytes, more := group[0].bytes, true; more && bytes < commitBytes; {
			select {
			case r := <-l.requests:
				group = append(group, r)
				bytes += r.bytes
			default:
				more = false
			}
		}
		l.commit(ctx, group)
		for _, r := range group {
			close(r.done)
		}
	}
}

// confirmAfter is how long no change comes before a record is written to the log only
// as evidence that the last change was acknowledged. Otherwise the next change is the
// evidence.
const confirmAfter = 100 * time.Millisecond

// tendLog is called when no change came for a while. It writes evidence that the last change was acknowledged. If
// changes are refused because the log failed, it tries an empty record instead, since refused clients may have stopped
// sending.
func (l *Live) tendLog(ctx context.Context) {
	if l.logTrouble == nil {
		l.logUse.Lock()
		l.log.Confirm()
		l.logUse.Unlock()
		return
	}
	err := l.resolveOutcome(ctx)
	if err == nil {
		l.logUse.Lock()
		_, err = l.log.Append(nil)
		l.logUse.Unlock()
	}
	l.note(&l.logTrouble, err)
}

// commit checks the conditions of a group's changes in order, appends those that hold to the log as one record, makes
// them pending and sets their numbers and outcomes. If the log fails, or another writer may have the collection, it
// sets the error of every request; whether its changes are made is then open.
func (l *Live) commit(ctx context.Context, group []*commitRequest) {
	if err := l.resolveOutcome(ctx); err != nil {
		l.note(&l.logTrouble, err)
		for _, r := range group {
			r.err = err
		}
		return
	}
	g := commitGroup{live: l, staged: map[string]string{}}
	for _, r := range group {
		if r.together {
			g.addTogether(r)
			continue
		}
		for i := range r.changes {
			if r.results[i].Err == nil {
				g.add(&r.changes[i], &r.results[i])
			}
		}
	}
	// A refused record may stand whole at the log's end and would count after a
	// kill. So answers that rest on a state without it wait until another record
	// stands in its place, even when there is nothing to write.
	write := len(g.entries) > 0 || l.logTrouble != nil // nobody else changes it
	l.logUse.Lock()
	first := l.log.Next
	var places []wal.ContentPlace
	var err error
	if write {
		places, err = l.log.Append(g.entries)
	}
	last := l.log.Next - 1
	if l.log.Size() > maxLogFile {
		l.log.Rotate()
	}
	l.logUse.Unlock()
	if write {
		l.note(&l.logTrouble, err)
	}
	if err != nil {
		for _, r := range group {
			r.err = err
		}
		return
	}
	now := time.Now()
	l.mu.Lock()
	for i, result := range g.results {
		result.Seq = first + uint64(i)
		l.pending.add(
			result.ID, pendingChange{seq: result.Seq, kind: g.entries[i].Kind, version: result.Version, at: places[i]},
			now,
		)
	}
	l.tell()
	l.mu.Unlock()
	for _, r := range group {
		for i := range r.results {
			if r.results[i].Seq == 0 && r.results[i].Err == nil {
				r.results[i].Seq = last // what it found may itself be pending
			}
		}
	}
}

// maxLogFile is the size in bytes from which on the next changes go to a new file of
// the log, so that each file fits into memory.
const maxLogFile = 64 << 20

// commitGroup collects the log's entries of a group.
type commitGroup struct {
	live    *Live
	staged  map[string]string // versions as this group leaves them; empty is deleted
	entries []wal.Change
	results []*store.ChangeResult // of each entry
}

// add checks the condition of a change against the version that the group leaves so far. If it holds, add sets the
// outcome in result, and appends the change to the log entries unless it changes nothing. Otherwise it sets the error
// in result.
func (g *commitGroup) add(c *ready, result *store.ChangeResult) {
	have, err := g.version(result.ID)
	if err == nil {
		result.Outcome, err = c.change.On(have, c.version)
	}
	if err != nil {
		result.Err = err
		return
	}
	result.Version = c.version
	if result.Outcome == store.Absent || result.Outcome == store.Unchanged {
		return
	}
	g.staged[result.ID] = c.version
	g.entries = append(g.entries, c.Change)
	g.results = append(g.results, result)
}

// version returns the version of the passage with this id as the group leaves it so far; "" if there is none. It
// fails if a file is damaged.
func (g *commitGroup) version(id string) (string, error) {
	if version, ok := g.staged[id]; ok {
		return version, nil
	}
	l := g.live
	l.mu.Lock()
	change, waits := l.pending.latest[id]
	l.mu.Unlock()
	if waits {
		return change.version, nil
	}
	p, ok, err := l.writer.passage(id, func(int) error { return nil }) // one at a time
	if !ok || err != nil {
		return "", err
	}
	return p.Version(), nil
}
