package opensearch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/schema"
)

// ApplyTogether makes the changes of one document's passages, all or none. changes[0] is that of its first passage:
// the record that says which version of the others counts (Store.ofOneVersion). It is written last; until then
// searches see the version before, of which copies are kept (standInSuffix). All changes are written down first, in
// an intent: if this process ends meanwhile, the next writer of the document, or Mend, finishes them.
//
// If the first result has an error, such as a condition that is not met, nothing was changed. Only the condition of
// changes[0] is checked. After an error of ApplyTogether itself, all of it may be changed, now or later. It panics if
// there are no changes.
func (w *Writer) ApplyTogether(ctx context.Context, changes []store.Change) ([]store.ChangeResult, error) {
	w.waiting.Add(int64(len(changes)))
	defer w.waiting.Add(-int64(len(changes)))
	results := make([]store.ChangeResult, len(changes))
	all := make([]*attempt, len(changes))
	document := changedDocument(changes)
	for i, change := range addRevision(changes) {
		results[i].ID = change.ID()
		all[i] = &attempt{change: &change, result: &results[i]}
		if !all[i].checkChange() {
			return results, nil
		}
	}
	err := w.applyDocument(ctx, document, all)
	var failed *conditionError
	if errors.As(err, &failed) {
		results[0].Err = failed.error
		return results, nil
	}
	if err != nil {
		var refused *corpus.FieldError
		if ctx.Err() == nil && !errors.As(err, &refused) {
			w.trouble.Store(&err)
		}
		return nil, err
	}
	w.numberResults(results)
	return results, nil
}

// conditionError is the error of a first change whose condition does not hold.
type conditionError struct{ error }

// checkFirst returns a *conditionError if the condition of the first change does not hold for the passage as it is
// stored now. It adds the time that it waits for the cluster to waited.
func (w *Writer) checkFirst(ctx context.Context, first *attempt, waited *waitedTime) error {
	var there []schema.StoredDocument
	err := w.wait(ctx, waited, func(patience time.Duration) (err error) {
		there, err = w.store.getStoredFor(ctx, patience, []string{first.result.ID})
		return err
	})
	if err != nil {
		return err
	}
	if _, err := first.change.On(there[0].Version, first.version); err != nil {
		return &conditionError{err}
	}
	return nil
}

// applyDocument makes the changes of one document, all[0] that of its first passage: it encodes the passages, writes
// the changes down as the document's intent, carries them out and removes the intent. A single change needs no
// intent. It returns a *conditionError, with nothing changed, if the condition of all[0] does not hold. After other
// errors the intent may stay, for the next writer to finish.
func (w *Writer) applyDocument(ctx context.Context, document string, all []*attempt) error {
	first := all[0]
	waited := &waitedTime{}
	if err := w.checkFirst(ctx, first, waited); err != nil {
		return err
	}
	if err := w.reuseVectors(ctx, all, waited); err != nil {
		return err
	}
	if err := w.encodeInBatches(ctx, all, waited); err != nil {
		return err
	}
	r := w.intentOf(document)
	if len(all) == 1 { // one request changes it
		if left, err := w.awaitNoIntent(ctx, r, waited); err != nil {
			return err
		} else if left == "" {
			return w.apply(ctx, all, nil)
		}
	}
	data, i, err := newIntent(w.store.current().ID, document, all)
	if err != nil {
		return err
	}
	version, err := w.recordIntent(ctx, r, data, waited)
	if err != nil {
		return err
	}
	begun := time.Now()
	err = w.checkFirst(ctx, first, waited)
	if err == nil {
		change := *first.change // its condition holds, and may not when others were written
		change.IfMatch, change.IfAbsent = "", false
		first.change = &change
		err = w.carryOut(ctx, r, i, all, begun)
	}
	var failed *conditionError
	if err != nil && !errors.As(err, &failed) {
		return err // the intent stays: some of it may be done
	}
	removed := w.wait(ctx, waited, func(patience time.Duration) error {
		r.patience = patience
		return r.remove(ctx, version)
	})
	if failed != nil && removed != nil {
		return removed // and would be made later
	}
	return err // an intent that is left is of what is done
}

// changedDocument returns the id of the document whose passages are changed, by the id of the first change.
func changedDocument(changes []store.Change) string {
	id := changes[0].ID()
	if document, _, ok := corpus.SplitPassageID(id); ok {
		return document
	}
	return id
}

// addRevision returns copies of the changes in which the metadata of every passage has a new revision, a hash of
// their document's tags and metadata, if the document has any: so a change of these alone makes another version, too.
// Otherwise the revision is removed. If the first change is not of a document's passage, they are returned as they
// are. It does not change its argument.
func addRevision(changes []store.Change) []store.Change {
	out := slices.Clone(changes)
	first := changes[0].Put
	if first == nil {
		return out
	}
	d, _, ok := corpus.DocumentOf(first)
	if !ok {
		return out
	}
	revision := ""
	if len(d.Tags)+len(d.Metadata) > 0 {
		p := corpus.Passage{Tags: d.Tags, Metadata: d.Metadata}
		revision = p.Version()
	}
	for i := range out {
		if out[i].Put == nil {
			continue
		}
		p := *out[i].Put
		p.Metadata = maps.Clone(p.Metadata)
		delete(p.Metadata, corpus.DocumentRevisionKey)
		if revision != "" {
			p.Metadata[corpus.DocumentRevisionKey] = revision
		}
		out[i].Put = &p
	}
	return out
}

// reuseVectors sets the body, the document to write, of each attempt that puts a passage whose title, text and language
// one of the changed passages has in the index now, with that one's vectors. The other attempts are left without a
// body, to be encoded. It adds the time that it waits for the cluster to waited. It fails if the cluster does not
// answer within the writer's patience.
func (w *Writer) reuseVectors(ctx context.Context, all []*attempt, waited *waitedTime) error {
	var m *schema.Manifest
	var encoders []store.PassageEncoder
	if err := w.wait(ctx, waited, func(patience time.Duration) (err error) {
		m, encoders, err = w.lookAtIndex(ctx, patience)
		return err
	}); err != nil {
		return err
	}
	fields := []string{schema.FieldTitle, schema.FieldText, schema.FieldMetadata}
	for _, x := range m.Keepers() {
		fields = append(fields, x.Sources()...)
	}
	known := map[schema.EncodedText]schema.Vectors{}
	for from := 0; from < len(all); from += batchPassages {
		var ids []string
		for _, a := range all[from:min(from+batchPassages, len(all))] {
			ids = append(ids, a.result.ID)
		}
		var there []schema.StoredDocument
		if err := w.wait(ctx, waited, func(patience time.Duration) (err error) {
			there, err = w.store.getStoredFor(ctx, patience, ids, fields...)
			if err == nil {
				err = w.store.addFreshCodes(ctx, patience, ids, there, lateExperts(m.Keepers()))
			}
			return err
		}); err != nil {
			return err
		}
		for i := range there {
			if there[i].Found && there[i].HasMarks(m.Marks()) {
				there[i].Source.RememberVectors(known, m.Keepers())
			}
		}
	}
	for _, a := range all {
		p := a.change.Put
		if p == nil {
			continue
		}
		vectors, ok := known[schema.EncodedTextOf(p)]
		if !ok {
			continue
		}
		var err error
		a.body, err = schema.AppendPassage(nil, m, p, vectors, schema.ReadMarks(encoders, *p)...)
		if err != nil {
			return err
		}
	}
	return nil
}

// encodeInBatches encodes the passages of those attempts whose body, the document, is not made yet, batchPassages
// attempts at a time, and sets it. It returns the first error, and adds the time that the cluster took to waited.
func (w *Writer) encodeInBatches(ctx context.Context, all []*attempt, waited *waitedTime) error {
	for from := 0; from < len(all); from += batchPassages {
		if err := w.encode(ctx, all[from:min(from+batchPassages, len(all))], waited); err != nil {
			return err
		}
	}
	return nil
}
