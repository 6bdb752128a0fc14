package opensearch

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/jobs/lease"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// intent is the description of a document's change that was begun. It is written before the first passage is touched
// and removed after the last one, so that any process that finds it can make the whole change, as often as need be.
// While it is there no other change of the document begins.
type intent struct {
	Token   string `json:"token"` // random
	ID      string `json:"id"`    // of the document
	Changes []byte `json:"changes"`
	// Index is the ID of the index's manifest: nothing is done of an intent that an index of this name left
	// which is gone.
	Index string `json:"index"`
}

// undisturbed is for how long an unchanged intent is left to the writer that made it; afterwards that writer is taken
// for dead. If it lives, both write the same.
var undisturbed = lease.Gone(lease.Beat)

// errFinished is the error of a writer whose change another writer has finished.
var errFinished = errors.New("another writer has finished this change")

// intentOf returns the register that holds the intent of a document, the description of its change that was begun.
// The register is named after the digest of the document's id. It makes no request.
func (w *Writer) intentOf(document string) *Register {
	sum := sha256.Sum256([]byte(document))
	r := w.store.Register("document-" + hex.EncodeToString(sum[:16]))
	r.pending = true
	r.made = &w.registers
	return r
}

// packedChange is a change as an intent has it.
type packedChange struct {
	Put    []byte `json:"put,omitempty"` // as Passage.AppendBinary makes it
	Delete string `json:"delete,omitempty"`
}

// newIntent returns the encoding of an intent as data for a register, and the intent: the changes of a document,
// without their conditions, which are checked by then. index is the ID of the index's manifest. Each intent has a
// random token. It fails only if a change cannot be encoded.
func newIntent(index, document string, all []*attempt) ([]byte, *intent, error) {
	changes := make([]packedChange, len(all))
	for i, a := range all {
		if a.change.Put == nil {
			changes[i].Delete = a.change.Delete
			continue
		}
		var err error
		changes[i].Put, err = a.change.Put.AppendBinary(nil)
		if err != nil {
			return nil, nil, err
		}
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if err := errors.Join(json.NewEncoder(z).Encode(changes), z.Close()); err != nil {
		return nil, nil, err
	}
	out := &intent{Token: rand.Text(), ID: document, Changes: packed.Bytes(), Index: index}
	data, err := json.Marshal(out)
	return data, out, err
}

// attempts returns the changes of an intent, without conditions. It fails if they cannot be read, one is invalid, or
// there are none.
func (i *intent) attempts() (all []*attempt, err error) {
	z, err := gzip.NewReader(bytes.NewReader(i.Changes))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	var changes []packedChange
	if err := json.Unmarshal(data, &changes); err != nil {
		return nil, err
	}
	for _, c := range changes {
		change := &store.Change{Delete: c.Delete}
		if c.Put != nil {
			change.Put = &corpus.Passage{}
			if err := change.Put.UnmarshalBinary(c.Put); err != nil {
				return nil, err
			}
		}
		a := &attempt{change: change, result: &store.ChangeResult{ID: change.ID()}}
		if !a.checkChange() {
			return nil, a.result.Err
		}
		all = append(all, a)
	}
	if len(all) == 0 {
		return nil, errors.New("no changes")
	}
	return all, nil
}

// recordIntent writes data, an encoded intent, to a document's register and returns the register's version. If
// another change of the document is under way, it waits for its end. If that change's writer seems dead, it finishes
// the change, or overwrites the intent if the change cannot be finished. It heeds the turns of other writers
// (documentTurn). Each request may take what waited leaves of the writer's patience, and its time is added to waited.
// It fails if the cluster does not answer within that patience, or ctx ends.
func (w *Writer) recordIntent(
	ctx context.Context,
	r *Register,
	data []byte,
	waited *waitedTime,
) (version string, err error) {
	turn := w.turnOf(r)
	defer func() { turn.giveBack(ctx, err == nil) }()
	if err := turn.awaitTurn(ctx); err != nil {
		return "", err
	}
	for {
		done := false
		if err := w.wait(ctx, waited, func(patience time.Duration) (err error) {
			r.patience = patience
			version, done, err = r.Write(ctx, data, "")
			return err
		}); err != nil || done {
			return version, err
		}
		turn.claimNext(ctx)
		left, err := w.awaitNoIntent(ctx, r, waited)
		if err != nil || left == "" {
			if err != nil {
				return "", err
			}
			continue
		}
		// It cannot be finished. The change that begins now replaces all of it.
		if err := w.wait(ctx, waited, func(patience time.Duration) (err error) {
			r.patience = patience
			version, done, err = r.Write(ctx, data, left)
			return err
		}); err != nil || done {
			return version, err
		}
	}
}

// awaitNoIntent waits until a document has no intent, and finishes one whose writer is taken for dead. left is the
// version of an intent that cannot be finished, since the cluster or the checks of passages refuse it; "" if there is
// none.
func (w *Writer) awaitNoIntent(ctx context.Context, r *Register, waited *waitedTime) (left string, err error) {
	for watched, since := "", time.Now(); ; {
		var data []byte
		var version string
		if err := w.wait(ctx, waited, func(patience time.Duration) (err error) {
			r.patience = patience
			data, version, err = r.Read(ctx)
			return err
		}); err != nil {
			return "", err
		}
		switch {
		case version == "":
			return "", nil
		case w.isForeign(data):
			return version, nil
		case version != watched:
			watched = version
			since = time.Now()
		case time.Since(since) > w.undisturbed:
			err := w.finishIntent(ctx, r, data, version)
			var silent *SilentError
			var gone *GoneError
			var blocked *cluster.BlockedError
			switch {
			case err == nil:
				return "", nil
			case ctx.Err() != nil, errors.As(err, &silent), errors.As(err, &gone), errors.As(err, &blocked):
				return "", err
			}
			return version, nil
		}
		if err := cluster.Sleep(ctx, 50*time.Millisecond); err != nil {
			return "", err
		}
	}
}

// isForeign reports whether an intent is of an earlier index of this name.
func (w *Writer) isForeign(data []byte) bool {
	var i intent
	return json.Unmarshal(data, &i) == nil && i.Index != w.store.current().ID
}

// finishIntent makes the whole change of an intent that another writer left, and removes the intent. After an error
// the intent stays. version is that of the register with the intent, data.
func (w *Writer) finishIntent(ctx context.Context, r *Register, data []byte, version string) error {
	var i intent
	if err := json.Unmarshal(data, &i); err != nil {
		return fmt.Errorf("the intent %s: %w", r.name, err)
	}
	all, err := i.attempts()
	if err != nil {
		return fmt.Errorf("the intent of document %q: %w", i.ID, err)
	}
	waited := &waitedTime{}
	if err := w.reuseVectors(ctx, all, waited); err != nil {
		return err
	}
	if err := w.encodeInBatches(ctx, all, waited); err != nil {
		return err
	}
	if err := w.carryOut(ctx, r, &i, all, time.Time{}); err != nil {
		return err
	}
	return w.wait(ctx, waited, func(patience time.Duration) error {
		r.patience = patience
		return r.remove(ctx, version)
	})
}

// carryOut makes the changes of an intent stage by stage (changeStages) and sets their results. It checks before
// changes that the register still has the intent, unless less than half of the undisturbed interval has passed since
// begun; with the zero time it always checks. If another writer has finished the intent meanwhile, the changes without
// a result count as made by that writer, and the error is nil.
func (w *Writer) carryOut(ctx context.Context, r *Register, i *intent, all []*attempt, begun time.Time) error {
	check := func(ctx context.Context) error {
		if time.Since(begun) < w.undisturbed/2 {
			return nil
		}
		data, version, err := r.Read(ctx)
		var now intent
		if err == nil && version != "" {
			err = json.Unmarshal(data, &now)
		}
		if err == nil && now.Token != i.Token {
			err = errFinished
		}
		return err
	}
	stages, err := w.changeStages(ctx, all)
	if err != nil {
		return err
	}
	for _, s := range stages {
		some := s.changes
		if s.standIns {
			some, err = w.removeStandIns(ctx, all)
			if err != nil {
				return err
			}
		}
		if len(some) > 0 {
			err = w.apply(ctx, slices.Clone(some), check) // which takes out what is done
		}
		if errors.Is(err, errFinished) {
			break
		}
		if err != nil {
			return err
		}
		if s.shown {
			w.awaitVisible(ctx)
		}
	}
	for _, a := range all {
		if a.result.Outcome != "" || a.result.Err != nil {
			continue
		}
		a.result.Outcome, a.result.Version = store.Replaced, a.version // by who finished it
		if a.change.Put == nil {
			a.result.Outcome = store.Deleted
		}
	}
	return nil
}

// stage is a step of the change of a document.
type stage struct {
	changes  []*attempt
	standIns bool // it deletes the stand-ins that are there, and has no changes
	shown    bool // the next one begins when searches see it
}

// changeStages returns the steps of the change of a document, all[0] being its first passage. A document that is
// deleted loses its first passage first, so that none of its others counts; one that is added gets it last. For one
// that is replaced it first reads what is there, and plans copies of the old passages (standInSuffix). It fails if
// the cluster does not answer.
func (w *Writer) changeStages(ctx context.Context, all []*attempt) ([]stage, error) {
	first, rest := stage{changes: all[:1]}, stage{changes: all[1:]}
	if all[0].change.Put == nil {
		return []stage{first, rest, {standIns: true}}, nil
	}
	var there []schema.StoredDocument
	if err := w.wait(ctx, &waitedTime{}, func(patience time.Duration) (err error) {
		there, err = w.store.getStoredFor(ctx, patience, []string{all[0].result.ID}, schema.FieldMetadata)
		return err
	}); err != nil {
		return nil, err
	}
	record := &there[0]
	if !record.Found {
		return []stage{rest, first}, nil
	}
	put, delete := stage{shown: true}, stage{}
	for _, a := range all[1:] {
		if a.change.Put != nil {
			put.changes = append(put.changes, a)
		} else {
			delete.changes = append(delete.changes, a)
		}
	}
	stages := []stage{put, first, delete, {standIns: true}}
	if record.Version == all[0].version { // it was begun before, or is the same
		stages[0].shown = false
		return stages, nil
	}
	made, err := w.makeStandIns(ctx, all, record)
	return slices.Insert(stages, 0, stage{changes: made}), err
}

// Mend finishes the changes of documents whose writers are gone. It looks once at all intents and returns: it
// finishes those that were the same in an earlier call, longer ago than the undisturbed interval, and removes those
// of an earlier index of this name. It returns the errors of single intents joined; these are tried again by the next
// call.
func (w *Writer) Mend(ctx context.Context) error {
	w.mending.Lock()
	defer w.mending.Unlock()
	names, err := w.store.Register("").listPending(ctx)
	if err != nil {
		return err
	}
	seen := map[string]sighting{}
	var errs []error
	for _, name := range names {
		r := w.store.Register(name)
		data, version, err := r.Read(ctx)
		if err != nil || version == "" {
			errs = append(errs, err)
			continue
		}
		now := w.seen[name]
		if now.version != version {
			now = sighting{version, time.Now()}
		}
		if w.isForeign(data) {
			errs = append(errs, r.remove(ctx, version))
			continue
		}
		if time.Since(now.since) > w.undisturbed {
			errs = append(errs, w.finishIntent(ctx, r, data, version))
		}
		seen[name] = now
	}
	w.seen = seen
	return errors.Join(errs...)
}

// sighting is when an intent was seen first.
type sighting struct {
	version string
	since   time.Time
}

// listPending returns the names of at most 1,000 registers that have intents; nil if there are no registers yet. It
// refreshes the index of registers first, and fails if the cluster does not answer.
func (r *Register) listPending(ctx context.Context) ([]string, error) {
	_, err := r.beside.sendRepeated(ctx, "POST", r.beside.path("/_refresh"), nil, cluster.CheckJSON)
	if cluster.IsStatus(err, 404) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(object{"size": 1000, "_source": false, "query": object{"term": object{"pending": true}}})
	if err != nil {
		return nil, err
	}
	answer, err := r.beside.sendRepeated(ctx, "POST", r.beside.path("/_search"), body, cluster.CheckJSON)
	if err != nil {
		return nil, fmt.Errorf("looking for changes that were begun: %w", err)
	}
	var got struct {
		Hits struct {
			Hits []struct {
				ID string `json:"_id"`
			} `json:"hits"`
		} `json:"hits"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, err
	}
	var names []string
	for _, h := range got.Hits.Hits {
		names = append(names, h.ID)
	}
	return names, nil
}
