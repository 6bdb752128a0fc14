package opensearch

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// An index has no change of several passages at once. While a document is replaced, its passages have stand-ins:
// documents of their own, in the shard of the passage, with the text, the words and the vectors of the other version.
//
//  1. Stand-ins are written: of the old version for each passage behind the first, of the new one for the first.
//  2. The new passages behind the first are written, and the index is refreshed.
//  3. The first passage is written: from then on the new version counts (Store.ofOneVersion).
//  4. What is left of the old version, and the stand-ins, are deleted.
//
// Searches of a shard see changes in their order, so at each moment a search finds every passage of the version that
// counts, in its place or by its stand-in, and Store.readWhole leaves the others out.

// standInSuffix is added to the id of a passage and gives the id of its stand-in. No passage that is put has an id with
// it (corpus.CheckID).
const standInSuffix = "\u2060"

// passageIDOf returns the id of the passage for an id in a table: without the number of a member, and for a stand-in
// that of its passage.
func passageIDOf(id string) string { return strings.TrimSuffix(plainID(id), standInSuffix) }

// isStandIn reports whether an id is that of a stand-in.
func isStandIn(id string) bool { return strings.HasSuffix(plainID(id), standInSuffix) }

// counterpart returns the id of a passage's stand-in (standInSuffix), and for a stand-in the id of its passage.
func (s *Store) counterpart(id string) string {
	if isStandIn(id) {
		return s.memberIDLike(id, passageIDOf(id))
	}
	return s.memberIDLike(id, plainID(id)+standInSuffix)
}

// withoutStandIns returns the query of all documents that meet every one of clauses, without stand-ins
// (standInSuffix); with no clauses, of all passages.
func withoutStandIns(clauses ...any) object {
	return object{"bool": object{
		"filter": append([]any{}, clauses...), "must_not": object{"term": object{schema.FieldExperts: schema.MarkStandIn}},
	}}
}

// readWhole reads passages and stand-ins by their ids, in the version of their document that counts. An id whose
// document in the index is of another version gets its counterpart's. If passages of a document are not there, all of
// it are read again, up to three times, since it may change meanwhile. A passage that is not there in that version
// has its id alone. It fails if the cluster does not answer.
func (s *Store) readWhole(ctx context.Context, ids []string) ([]corpus.Passage, error) {
	read, err := s.readPassages(ctx, ids)
	if err == nil {
		read, err = s.ofOneVersion(ctx, ids, read)
	}
	for try := 0; err == nil && try < 3; try++ {
		again := s.incompleteDocuments(ids, read)
		if len(again) == 0 {
			break
		}
		both := make([]string, 0, 2*len(again))
		for _, i := range again {
			both = append(both, ids[i], s.counterpart(ids[i]))
		}
		var found []corpus.Passage
		found, err = s.readPassages(ctx, both)
		if err == nil {
			found, err = s.ofOneVersion(ctx, both, found)
		}
		if err != nil {
			break
		}
		for n, i := range again {
			read[i] = found[2*n]
			if storage.IsDeleted(read[i]) {
				read[i] = found[2*n+1]
			}
		}
	}
	return read, err
}

// incompleteDocuments returns the indexes in ids, ascending, of all passages of those documents that lack one: read has
// the passage of each id, and storage.IsDeleted is true of one that was not found. It returns nil if all were found.
// Passages that are of no document do not count.
func (s *Store) incompleteDocuments(ids []string, read []corpus.Passage) (places []int) {
	documents := map[string]bool{}
	documentOf := func(i int) (string, bool) {
		d, _, ok := corpus.SplitPassageID(passageIDOf(ids[i]))
		return s.memberIDLike(ids[i], d), ok
	}
	for i := range ids {
		if d, ok := documentOf(i); ok && storage.IsDeleted(read[i]) {
			documents[d] = true
		}
	}
	for i := range ids {
		if d, ok := documentOf(i); ok && documents[d] {
			places = append(places, i)
		}
	}
	return places
}

// makeStandIns returns the changes that write the stand-ins of a document that is replaced (standInSuffix): of the new
// version for its first passage, all[0], and of the old one for each other passage that is put. record is the document
// of the first passage as it is now, with metadata. It returns nil if record is not of a document yet. It reads the old
// passages from the index. It fails if the cluster does.
func (w *Writer) makeStandIns(ctx context.Context, all []*attempt, record *schema.StoredDocument) ([]*attempt, error) {
	waited := &waitedTime{}
	counts, err := record.Source.DocumentVersion(all[0].result.ID)
	if err != nil {
		return nil, nil // it is of no document yet
	}
	var m *schema.Manifest
	if err := w.wait(ctx, waited, func(patience time.Duration) (err error) {
		m, _, err = w.lookAtIndex(ctx, patience)
		return err
	}); err != nil {
		return nil, err
	}
	var first schema.Source
	if err := json.Unmarshal(all[0].body, &first); err != nil {
		return nil, err
	}
	out, err := w.appendStandIn(nil, m, *all[0].change.Put, first)
	if err != nil {
		return nil, err
	}
	fields := schema.PassageFields()
	for _, x := range m.Keepers() {
		fields = append(fields, x.Sources()...)
	}
	var ids []string
	versions := map[string]string{}
	for _, a := range all[1:] {
		if a.change.Put != nil {
			ids = append(ids, a.result.ID)
			versions[a.result.ID] = a.version
		}
	}
	for some := range slices.Chunk(ids, batchPassages) {
		var there []schema.StoredDocument
		if err := w.wait(ctx, waited, func(patience time.Duration) (err error) {
			there, err = w.store.getStoredFor(ctx, patience, some, fields...)
			if err == nil {
				err = w.store.addFreshCodes(ctx, patience, some, there, lateExperts(m.Keepers()))
			}
			return err
		}); err != nil {
			return nil, err
		}
		for i, has := range there {
			if !has.Found || has.Version == versions[some[i]] || !has.HasMarks(m.Marks()) {
				continue
			}
			p, err := has.Source.Passage(some[i])
			if err != nil {
				continue // another program wrote it
			}
			lacksCodes := func(x schema.Expert) bool { return has.Source[x.Field()] == nil && !has.Source.IsLeftOut(x) }
			if slices.ContainsFunc(lateExperts(m.Keepers()), lacksCodes) {
				continue // it is being changed by itself
			}
			if d, _, ok := corpus.DocumentOf(&p); ok && sameVersion(schema.VersionOf(d), counts) {
				out, err = w.appendStandIn(out, m, p, has.Source)
				if err != nil {
					return nil, err
				}
			}
		}
	}
	return out, nil
}

// appendStandIn appends to all the change that writes the stand-in of passage p, with the vectors that the document
// from has. It appends none if the stand-in's id would be too long. It fails if the document lacks the vectors of an
// expert.
func (w *Writer) appendStandIn(
	all []*attempt,
	m *schema.Manifest,
	p corpus.Passage,
	from schema.Source,
) ([]*attempt, error) {
	p.ID += standInSuffix
	if len(p.ID) > corpus.MaxIDBytes {
		return all, nil
	}
	vectors := schema.Vectors{}
	for _, x := range m.Keepers() {
		made, err := from.Encoded(x)
		if err != nil {
			return nil, err
		}
		vectors[x.Name] = made
	}
	record, err := p.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	body, err := schema.AppendStandIn(nil, m, &p, vectors)
	return append(all, &attempt{change: &store.Change{Put: &p}, result: &store.ChangeResult{ID: p.ID},
		version: corpus.VersionOf(record), body: body}), err
}

// removeStandIns returns the changes that delete those stand-ins of the passages of all that the index has. It reads
// from the index which these are. It fails if the cluster does not answer.
func (w *Writer) removeStandIns(ctx context.Context, all []*attempt) (out []*attempt, err error) {
	waited := &waitedTime{}
	for some := range slices.Chunk(all, batchPassages) {
		var ids []string
		for _, a := range some {
			if id := w.store.counterpart(a.result.ID); len(id) <= corpus.MaxIDBytes {
				ids = append(ids, id)
			}
		}
		var there []schema.StoredDocument
		if err := w.wait(ctx, waited, func(patience time.Duration) (err error) {
			there, err = w.store.getStoredFor(ctx, patience, ids)
			return err
		}); err != nil {
			return nil, err
		}
		for i, has := range there {
			if has.Found {
				out = append(out, &attempt{change: &store.Change{Delete: ids[i]}, result: &store.ChangeResult{ID: ids[i]}})
			}
		}
	}
	return out, nil
}

const (
	// showWithin is how long a document that is replaced waits until searches see its new passages.
	showWithin = 5 * time.Second
	// inFlight is how long it then waits, at most, for questions that were asked before.
	inFlight = time.Second
)

// awaitVisible makes searches see what was written, and then waits until questions that were asked before will have
// read what they found, as a rule: four times as long as a search takes, at most w.inFlight. If making it visible
// fails within showWithin, the index's own refreshes do it later.
func (w *Writer) awaitVisible(ctx context.Context) {
	waiting, cancel := context.WithTimeout(ctx, showWithin)
	defer cancel()
	_ = w.Wait(waiting, w.sequence.Add(1))
	_ = cluster.Sleep(ctx, min(w.inFlight, 4*w.store.client.SearchTime()))
}
