package opensearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// Writer changes the passages of an index while it is searched. It keeps nothing: a change is acknowledged when the
// cluster has it, with its vectors, so any number of writers may be at work.
type Writer struct {
	store    *Store
	encoders []store.PassageEncoder
	shared   []store.SharedPass
	turns    chan struct{} // one for each Apply that encodes
	patience time.Duration // writePatience, but in tests
	waiting  atomic.Int64  // changes
	sequence atomic.Uint64 // the last change
	trouble  atomic.Pointer[error]

	looking  sync.Mutex // held while looking what the index is
	looked   time.Time
	manifest *schema.Manifest // as it was then

	undisturbed time.Duration // undisturbed, but in tests
	registers   atomic.Bool   // their index is known to be there
	mending     sync.Mutex
	seen        map[string]sighting // by the names of intents, at the last look

	begun        recentChanges
	inFlight     time.Duration // inFlight, but in tests
	turnPatience time.Duration // turnPatience, but in tests

	refreshing chan struct{} // one place, of who refreshes
	visible    uint64        // changes up to this number are seen by searches
}

const (
	// encoding is how many calls of Apply encode at once.
	encoding = 4
	// writePatience is how long a call of Apply waits for the cluster while nothing gets through.
	writePatience = 30 * time.Second
	// visiblePatience is how long a request waits for searches to see what it wrote.
	visiblePatience = 20 * time.Second
)

// NewWriter returns a writer of a finished index. encoders have to be those of all its experts, and may be of others,
// too; shared are passes that serve two of them. It makes no request. It returns ErrUnfinished if the index has no
// manifest yet, and an error if an encoder is missing.
func NewWriter(s *Store, encoders []store.PassageEncoder, shared []store.SharedPass) (*Writer, error) {
	w := &Writer{store: s, encoders: encoders, shared: shared, patience: writePatience, undisturbed: undisturbed,
		inFlight: inFlight, turnPatience: turnPatience}
	w.turns = make(chan struct{}, encoding)
	w.refreshing = make(chan struct{}, 1)
	if s.about.Manifest == nil {
		return nil, schema.ErrUnfinished
	}
	w.manifest = s.current()
	w.looked = time.Now()
	_, err := w.encodersOf(w.manifest)
	return w, err
}

// encodersOf returns the writer's encoders of a manifest's experts. It fails if it has not all of them.
func (w *Writer) encodersOf(m *schema.Manifest) ([]store.PassageEncoder, error) {
	out := slices.DeleteFunc(slices.Clone(w.encoders), func(e store.PassageEncoder) bool {
		_, has := m.Expert(e.Name())
		return !has
	})
	return out, m.CheckAllEncoders(out)
}

// lookAtIndex returns the manifest by which passages are to be written, and the encoders of its experts, which may have
// been added or removed. It reads the manifest again if the last look was lookEvery ago. It returns a *GoneError if the
// index is not the one that was opened.
func (w *Writer) lookAtIndex(
	ctx context.Context,
	patience time.Duration,
) (*schema.Manifest, []store.PassageEncoder, error) {
	w.looking.Lock()
	defer w.looking.Unlock()
	if now := time.Now(); now.Sub(w.looked) >= lookEvery {
		s, err := open(ctx, w.store.client, w.store.index, patience)
		if isNotOurs(err) || err == nil && s.current().ID != w.store.current().ID {
			err = &GoneError{w.store.index}
		}
		if err != nil {
			return nil, nil, err
		}
		w.manifest = s.current()
		w.looked = now
	}
	encoders, err := w.encodersOf(w.manifest)
	return w.manifest, encoders, err
}

// Apply makes changes, in their order, and returns when every in-sync copy of the cluster has them on disk. There is a
// result for each; the error in a result, of its condition or its passage, concerns that change alone. If Apply itself
// returns an error it is unknown which of the changes were made: a *SilentError if the cluster did not answer for 30
// seconds, a *BlockedError or a *GoneError if it refuses all.
func (w *Writer) Apply(ctx context.Context, changes []store.Change) ([]store.ChangeResult, error) {
	w.waiting.Add(int64(len(changes)))
	defer w.waiting.Add(-int64(len(changes)))
	results := make([]store.ChangeResult, len(changes))
	var left []*attempt
	for i := range changes {
		results[i].ID = changes[i].ID()
		a := &attempt{change: &changes[i], result: &results[i]}
		if a.checkChange() {
			left = append(left, a)
		}
	}
	for len(left) > 0 {
		var some []*attempt
		some, left = takeDistinct(left)
		if len(some) > 0 {
			if err := w.apply(ctx, some, nil); err != nil {
				if ctx.Err() == nil {
					w.trouble.Store(&err)
				}
				return nil, err
			}
		}
	}
	w.numberResults(results)
	return results, nil
}

// numberResults gives results the next sequence number, by which Wait waits for the changes to be visible, and clears
// the trouble that Backlog reports.
func (w *Writer) numberResults(results []store.ChangeResult) {
	w.trouble.Store(nil)
	last := w.sequence.Add(1)
	for i := range results {
		results[i].Seq = last
	}
}

// takeDistinct splits off the first attempts, batchPassages at most, that concern different passages: changes of one
// passage have to be made one after the other.
func takeDistinct(all []*attempt) (some, left []*attempt) {
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

// attempt is one change on its way to the cluster.
type attempt struct {
	change  *store.Change
	result  *store.ChangeResult
	version string // of the passage that is put
	body    []byte // of its document, once it is encoded
	// unsure: it was sent, and nobody said what became of it, so that what is found
	// may be its own doing.
	unsure bool
	last   int64 // version that was found where nothing should be
	op     operation
}

// checkChange checks the passage of a change and sets its version. It returns false if the passage is invalid: the
// result has the error then, and nothing is to be done.
func (a *attempt) checkChange() bool {
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

// apply makes changes of different passages and sets their results; a change whose condition is not met gets its
// error in its result. A passage that another writer changes in between is read again. If check is not nil, it is
// called after the passages were read each time, before anything is changed; its error ends apply. After an error it
// is unknown which changes were made. left is reused for what is left to do.
func (w *Writer) apply(ctx context.Context, left []*attempt, check func(context.Context) error) error {
	waited := &waitedTime{}
	for len(left) > 0 {
		ids := make([]string, len(left))
		for i, a := range left {
			ids[i] = a.result.ID
		}
		var there []schema.StoredDocument
		if err := w.wait(ctx, waited, func(patience time.Duration) (err error) {
			there, err = w.store.getStoredFor(ctx, patience, ids)
			return err
		}); err != nil {
			return err
		}
		if check != nil {
			if err := w.wait(ctx, waited, func(time.Duration) error { return check(ctx) }); err != nil {
				return err
			}
		}
		settled := w.store.client.Settled()
		left = slices.DeleteFunc(
			left, func(a *attempt) bool { return !a.compareWith(&there[slices.Index(ids, a.result.ID)], settled) },
		)
		if err := w.encode(ctx, left, waited); err != nil {
			return err
		}
		operations := make([]operation, len(left))
		for i, a := range left {
			operations[i] = a.op
			operations[i].body = a.body
		}
		var results []operationResult
		if err := w.wait(ctx, waited, func(patience time.Duration) (err error) {
			results, err = w.store.writeBulkFor(ctx, patience, operations)
			return err
		}); err != nil {
			return err
		}
		waited.sum = 0
		var again []*attempt
		for i, a := range left {
			switch r := results[i]; {
			case r.succeeded() && a.result.Outcome == store.Absent:
				a.result.Outcome = store.Deleted
			case r.succeeded(), a.op.verb == removing && a.op.createsDocument() && r.status == 404 && r.why == "":
			case r.conflicted():
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

// compareWith sets the outcome of a change by what is there, and reports whether it is to be sent. A node that hung
// may answer from its own copies as they once were. So nothing is acknowledged that was only read: that a passage is
// absent, or is what an unsure attempt left, is written once more, which such a node cannot do. Only while all nodes
// answer (settled) an unchanged passage is left as it is.
func (a *attempt) compareWith(current *schema.StoredDocument, settled bool) bool {
	r := a.result
	if !a.unsure || current.Found != (a.change.Put != nil) || current.Version != a.version { // else its outcome is known
		r.Outcome, r.Err = a.change.On(current.Version, a.version)
		if r.Err != nil {
			r.Outcome = ""
			return false
		}
		r.Version = a.version
		if r.Outcome == store.Unchanged && settled {
			return false
		}
	}
	a.op = operation{verb: replacing, id: r.ID, seqNo: current.SeqNo, term: current.Term, last: a.last}
	if a.change.Put == nil {
		a.op.verb = removing
	}
	return true
}

// waitedTime is how long a change has waited for the cluster since a request got through.
type waitedTime struct{ sum time.Duration }

// wait calls ask with what is left of the writer's patience, 0 at least, and adds the time that it took to waited. It
// returns the error of ask; one that the cluster could not be reached becomes a *SilentError (asSilentError).
func (w *Writer) wait(ctx context.Context, waited *waitedTime, ask func(patience time.Duration) error) error {
	began := time.Now()
	err := w.asSilentError(ctx, ask(max(w.patience-waited.sum, 0)))
	waited.sum += time.Since(began)
	return err
}

// asSilentError returns a *SilentError in the place of an error of a cluster that could not be reached, was overloaded
// or did not answer in time. Refusals, a *BlockedError, a *GoneError and the end of ctx are returned as they are.
func (w *Writer) asSilentError(ctx context.Context, err error) error {
	var status *cluster.StatusError
	var blocked *cluster.BlockedError
	var gone *GoneError
	var silent *SilentError
	refused := errors.As(err, &status) && status.Status != http.StatusTooManyRequests && status.Status < 500
	refused = refused || errors.Is(err, errFinished)
	switch {
	case err == nil, ctx.Err() != nil, refused, errors.As(err, &blocked), errors.As(err, &gone):
		return err
	case errors.As(err, &silent):
		err = silent.Err
	}
	return &SilentError{w.store.index, w.patience, err}
}

// encode encodes those passages to be put that have no body yet, and sets their body, the document for the cluster.
// It waits for one of the writer's turns, of which there are `encoding`, and adds the time that the cluster took to
// waited. It fails if an encoder does, the cluster does not answer, or ctx ends.
func (w *Writer) encode(ctx context.Context, all []*attempt, waited *waitedTime) error {
	var passages []corpus.Passage
	var batch []*attempt
	for _, a := range all {
		if a.change.Put != nil && a.body == nil {
			passages, batch = append(passages, *a.change.Put), append(batch, a)
		}
	}
	if len(batch) == 0 {
		return nil
	}
	var m *schema.Manifest
	var encoders []store.PassageEncoder
	if err := w.wait(ctx, waited, func(patience time.Duration) (err error) {
		m, encoders, err = w.lookAtIndex(ctx, patience)
		return err
	}); err != nil {
		return err
	}
	select {
	case w.turns <- struct{}{}:
		defer func() { <-w.turns }()
	case <-ctx.Done():
		return ctx.Err()
	}
	operations := make([]operation, len(batch))
	if err := w.store.encodeOperations(ctx, m, passages, operations,
		store.BuildOptions{Experts: encoders, Shared: w.shared}); err != nil {
		return err
	}
	for i, a := range batch {
		a.body = operations[i].body
	}
	return nil
}

// Passage returns a passage as it was acknowledged last, with its version; ok is false if there is none. room is
// called with the passage's size after it was read, since the cluster does not say before how large it is; its error
// is returned. The cluster has cluster.Opening to answer.
func (w *Writer) Passage(
	ctx context.Context,
	id string,
	room func(bytes int) error,
) (p corpus.Passage, version string, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, cluster.Opening)
	defer cancel()
	stored, err := w.store.getStored(ctx, []string{id}, schema.PassageFields()...)
	if err != nil || !stored[0].Found {
		return p, "", false, err
	}
	p, err = stored[0].Source.Passage(id)
	if err != nil {
		return p, "", false, err
	}
	if err := room(len(p.ID) + len(p.Title) + len(p.Text)); err != nil {
		return corpus.Passage{}, "", false, err
	}
	return p, stored[0].Version, true, nil
}

// Wait refreshes the index, unless searches see the change with this sequence number already, and returns when they
// do; 0 stands for all changes that were acknowledged before. Calls wait for each other, so that one refresh serves
// several. It fails if the cluster does not answer within the writer's patience or ctx ends.
func (w *Writer) Wait(ctx context.Context, seq uint64) error {
	if seq == 0 {
		seq = w.sequence.Load()
	}
	select {
	case w.refreshing <- struct{}{}:
		defer func() { <-w.refreshing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if w.visible >= seq {
		return nil
	}
	last := w.sequence.Load()
	if err := w.store.refreshFor(ctx, w.patience); err != nil {
		return err
	}
	w.visible = last
	return nil
}

// MostWait returns how long at most a request may wait for its changes to be visible.
func (w *Writer) MostWait() time.Duration { return visiblePatience }

// Visible makes searches see everything that was acknowledged before, and returns when they do. It fails if the cluster
// does not answer, or ctx ends.
func (w *Writer) Visible(ctx context.Context) error { return w.Wait(ctx, w.sequence.Load()) }

// Backlog returns how many changes wait to be encoded and written, and the error of the last Apply if that failed.
// None of these changes is acknowledged.
func (w *Writer) Backlog() store.Backlog {
	b := store.Backlog{Changes: int(w.waiting.Load())}
	if trouble := w.trouble.Load(); trouble != nil {
		b.Trouble = *trouble
	}
	return b
}
