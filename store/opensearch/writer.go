package opensearch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/store/folder"
)

// Writer changes the passages of an index while it is searched. It keeps no state: a
// change is acknowledged when the cluster has it, with its vectors, so any number of
// writers may be at work.
type Writer struct {
	store    *Store
	encoders []folder.PassageEncoder
	shared   []folder.SharedPass
	turns    chan struct{} // one for each Apply that encodes and writes
	waiting  atomic.Int64  // changes
	sequence atomic.Uint64 // the last change
	trouble  atomic.Pointer[error]

	looking  sync.Mutex // held while looking what the index is
	looked   time.Time
	manifest *Manifest // as it was then

	refreshing sync.Mutex
	visible    uint64 // changes up to this number are seen by searches
}

// applying is how many Applies work at once: one encodes while another one writes.
const applying = 4

// NewWriter writes to an index with the encoders of all its experts, and perhaps of others.
func NewWriter(s *Store, encoders []folder.PassageEncoder, shared []folder.SharedPass) (*Writer, error) {
	w := &Writer{store: s, encoders: encoders, shared: shared, turns: make(chan struct{}, applying)}
	if s.about.Manifest == nil {
		return nil, ErrUnfinished
	}
	w.manifest = s.current()
	w.looked = time.Now()
	_, err := w.chosen(w.manifest)
	return w, err
}

// chosen returns the encoders of a manifest's experts.
func (w *Writer) chosen(m *Manifest) ([]folder.PassageEncoder, error) {
	out := slices.DeleteFunc(slices.Clone(w.encoders), func(e folder.PassageEncoder) bool {
		_, has := m.Expert(e.Name())
		return !has
	})
	return out, m.matches(out)
}

// look returns what passages are to be written by now. Experts may have come and gone.
func (w *Writer) look(ctx context.Context) (*Manifest, []folder.PassageEncoder, error) {
	w.looking.Lock()
	defer w.looking.Unlock()
	if now := time.Now(); now.Sub(w.looked) >= lookEvery {
		s, err := open(ctx, w.store.client, w.store.index, bulkPatience)
		if err != nil {
			return nil, nil, err
		}
		w.manifest = s.current()
		w.looked = now
		w.store.written.Store(s.written.Load())
		w.store.keyed.Store(s.keyed.Load())
	}
	encoders, err := w.chosen(w.manifest)
	return w.manifest, encoders, err
}

// Apply makes changes, in their order, and returns when every in-sync copy of the cluster
// has them on disk. There is a result for each: an error there, of its condition or its
// passage, concerns that change alone. When Apply itself returns an error it is unknown
// which of the changes were made.
func (w *Writer) Apply(ctx context.Context, changes []folder.Change) ([]folder.ChangeResult, error) {
	w.waiting.Add(int64(len(changes)))
	defer w.waiting.Add(-int64(len(changes)))
	select {
	case w.turns <- struct{}{}:
		defer func() { <-w.turns }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	results := make([]folder.ChangeResult, len(changes))
	var left []*attempt
	for i := range changes {
		results[i].ID = changes[i].ID()
		a := &attempt{change: &changes[i], result: &results[i]}
		if a.prepare() {
			left = append(left, a)
		}
	}
	for len(left) > 0 {
		var some []*attempt
		some, left = apart(left)
		if len(some) > 0 {
			if err := w.apply(ctx, some); err != nil {
				if ctx.Err() == nil {
					w.trouble.Store(&err)
				}
				return nil, err
			}
		}
	}
	w.trouble.Store(nil)
	last := w.sequence.Add(1)
	for i := range results {
		results[i].Seq = last
	}
	return results, nil
}

// apart takes the first changes that concern different passages: those of one passage are
// made one after the other.
func apart(all []*attempt) (some, left []*attempt) {
	seen := map[string]bool{}
	for _, a := range all {
		if id := a.result.ID; len(some) == batchPassages || seen[id] {
			break
		}
		seen[a.result.ID] = true
		some = append(some, a)
	}
	return some, all[len(some):]
}

// attempt is a change on its way.
type attempt struct {
	change  *folder.Change
	result  *folder.ChangeResult
	version string // of the passage that is put
	body    []byte // of its document, once it is encoded
	// unsure: it was sent, and nobody said what became of it, so that what is found
	// may be its own doing.
	unsure bool
	last   int64 // version that was found where nothing should be
	op     operation
}

// prepare checks a change, and reports whether there is something to do.
func (a *attempt) prepare() bool {
	p := a.change.Put
	if p == nil {
		return true
	}
	var record []byte
	a.result.Err = p.Check()
	if a.result.Err == nil {
		record, a.result.Err = p.AppendBinary(nil)
	}
	if a.result.Err != nil {
		return false
	}
	a.version = corpus.VersionOf(record)
	return true
}

// apply makes changes of different passages. What another writer changes in between is
// looked at again.
func (w *Writer) apply(ctx context.Context, left []*attempt) error {
	for len(left) > 0 {
		ids := make([]string, len(left))
		for i, a := range left {
			ids[i] = a.result.ID
		}
		there, err := w.store.get(ctx, ids)
		if err != nil {
			return err
		}
		settled := w.store.client.Settled()
		left = slices.DeleteFunc(
			left,
			func(a *attempt) bool { return !a.meets(&there[slices.Index(ids, a.result.ID)], settled) },
		)
		if err := w.encode(ctx, left); err != nil {
			return err
		}
		operations := make([]operation, len(left))
		for i, a := range left {
			operations[i] = a.op
			operations[i].body = a.body
		}
		results, err := w.store.bulk(ctx, operations)
		if err != nil {
			return err
		}
		var again []*attempt
		for i, a := range left {
			switch r := results[i]; {
			case r.made() && a.result.Outcome == folder.Absent:
				a.result.Outcome = folder.Deleted
			case r.made(), a.op.verb == removing && a.op.absent() && r.status == 404 && r.why == "":
			case r.conflict():
				a.unsure = a.unsure || r.unsure
				a.last = r.last
				again = append(again, a)
			default:
				return fmt.Errorf("passage %q was refused with status %d: %s", a.result.ID, r.status, r.why)
			}
		}
		left = again
	}
	return nil
}

// meets compares a change with what is there and reports whether it is to be sent. What a
// node says may be of the past: one that hung, and which the cluster went on without,
// answers from its own copies until it notices. So nothing is acknowledged that was only
// read: that a passage is absent, or that it is what an unsure attempt left, is written
// once more, which such a node cannot do. A passage that is unchanged is left as it is
// while all nodes answer.
func (a *attempt) meets(there *stored, settled bool) bool {
	r := a.result
	if !a.unsure || there.found != (a.change.Put != nil) || there.version != a.version { // else its outcome is known
		r.Outcome, r.Err = a.change.On(there.version, a.version)
		if r.Err != nil {
			r.Outcome = ""
			return false
		}
		r.Version = a.version
		if r.Outcome == folder.Unchanged && settled {
			return false
		}
	}
	a.op = operation{verb: replacing, id: r.ID, seqNo: there.seqNo, term: there.term, last: a.last}
	if a.change.Put == nil {
		a.op.verb = removing
	}
	return true
}

// encode makes the documents of passages that have none yet.
func (w *Writer) encode(ctx context.Context, all []*attempt) error {
	var passages []corpus.Passage
	var of []*attempt
	for _, a := range all {
		if a.change.Put != nil && a.body == nil {
			passages, of = append(passages, *a.change.Put), append(of, a)
		}
	}
	if len(of) == 0 {
		return nil
	}
	m, encoders, err := w.look(ctx)
	if err != nil {
		return err
	}
	operations := make([]operation, len(of))
	if err := w.store.encode(ctx, m, passages, operations,
		folder.BuildOptions{Experts: encoders, Shared: w.shared}); err != nil {
		return err
	}
	for i, a := range of {
		a.body = operations[i].body
	}
	return nil
}

// Passage reads a passage as it was acknowledged last, with its version. The cluster does
// not say how large it is before it is read.
func (w *Writer) Passage(
	ctx context.Context,
	id string,
	room func(bytes int) error,
) (p corpus.Passage, version string, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, opening)
	defer cancel()
	there, err := w.store.get(ctx, []string{id}, fieldID, fieldTitle, fieldText, fieldTags, fieldMetadata)
	if err != nil || !there[0].found {
		return p, "", false, err
	}
	p, err = there[0].source.passage(id)
	if err != nil {
		return p, "", false, err
	}
	if err := room(len(p.ID) + len(p.Title) + len(p.Text)); err != nil {
		return corpus.Passage{}, "", false, err
	}
	return p, there[0].version, true, nil
}

// Wait waits until searches see the change with the number seq, and hastens that.
func (w *Writer) Wait(ctx context.Context, seq uint64) error {
	w.refreshing.Lock()
	defer w.refreshing.Unlock()
	if w.visible >= seq {
		return nil
	}
	last := w.sequence.Load()
	if err := w.store.refresh(ctx); err != nil {
		return err
	}
	w.visible = last
	return nil
}

// Visible waits until searches see what was acknowledged, and hastens that.
func (w *Writer) Visible(ctx context.Context) error { return w.Wait(ctx, w.sequence.Load()) }

// Backlog returns the changes that wait to be encoded and written. None of them is
// acknowledged; searches see those that are within the index's refresh interval.
func (w *Writer) Backlog() folder.Backlog {
	b := folder.Backlog{Changes: int(w.waiting.Load())}
	if trouble := w.trouble.Load(); trouble != nil {
		b.Trouble = *trouble
	}
	return b
}
