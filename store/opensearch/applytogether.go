package opensearch

import (
	"context"
	"encoding/json"
	"time"

	"example.org/conclave/store"
)

// ApplyTogether makes changes of different passages, all or none: those behind the first,
// in one request, and then the first, which is the record of a document and says which
// version of the others counts (Store.ofOneVersion). So until then searches see the version
// before, in part, and none sees two. The conditions of the others do not count. With an
// error in the first result, others may have been made, and are made good by the next
// attempt; the error of ApplyTogether itself says so too.
func (w *Writer) ApplyTogether(ctx context.Context, changes []store.Change) ([]store.ChangeResult, error) {
	w.waiting.Add(int64(len(changes)))
	defer w.waiting.Add(-int64(len(changes)))
	results := make([]store.ChangeResult, len(changes))
	all := make([]*attempt, len(changes))
	for i := range changes {
		results[i].ID = changes[i].ID()
		all[i] = &attempt{change: &changes[i], result: &results[i]}
		if !all[i].prepare() {
			return results, nil
		}
	}
	first := all[0]
	waited := &waited{}
	var there []stored
	if err := w.wait(ctx, waited, func(patience time.Duration) (err error) {
		there, err = w.store.getFor(ctx, patience, []string{first.result.ID})
		return err
	}); err != nil {
		return nil, err
	}
	if _, err := first.change.On(there[0].version, first.version); err != nil {
		results[0].Err = err
		return results, nil
	}
	if err := w.reuse(ctx, all, waited); err != nil {
		return nil, err
	}
	if err := w.encodeInBatches(ctx, all, waited); err != nil {
		return nil, err
	}
	for _, some := range [][]*attempt{all[1:], all[:1]} {
		if len(some) == 0 {
			continue
		}
		if err := w.apply(ctx, some); err != nil {
			if ctx.Err() == nil {
				w.trouble.Store(&err)
			}
			return nil, err
		}
	}
	w.trouble.Store(nil)
	last := w.sequence.Add(1)
	for i := range results {
		results[i].Seq = last
	}
	return results, nil
}

// reuse makes the documents of passages whose title and text one of those has that are
// replaced or deleted: with the vectors that it has.
func (w *Writer) reuse(ctx context.Context, all []*attempt, waited *waited) error {
	var m *Manifest
	var encoders []store.PassageEncoder
	if err := w.wait(ctx, waited, func(patience time.Duration) (err error) {
		m, encoders, err = w.look(ctx, patience)
		return err
	}); err != nil {
		return err
	}
	fields := []string{fieldTitle, fieldText}
	for _, x := range m.keepers() {
		fields = append(fields, x.field())
	}
	known := map[[2]string]vectorsOf{}
	for from := 0; from < len(all); from += batchPassages {
		var ids []string
		for _, a := range all[from:min(from+batchPassages, len(all))] {
			ids = append(ids, a.result.ID)
		}
		var there []stored
		if err := w.wait(ctx, waited, func(patience time.Duration) (err error) {
			there, err = w.store.getFor(ctx, patience, ids, fields...)
			return err
		}); err != nil {
			return err
		}
		for i := range there {
			if there[i].found && there[i].has(m.marks()) {
				there[i].source.remember(known, m.keepers())
			}
		}
	}
	for _, a := range all {
		p := a.change.Put
		if p == nil {
			continue
		}
		vectors, ok := known[[2]string{p.Title, p.Text}]
		if !ok {
			continue
		}
		written, keyed := w.store.written.Load(), w.store.keyed.Load()
		var err error
		a.body, err = appendPassage(nil, m, written, keyed, p, vectors, readMarks(encoders, *p)...)
		if err != nil {
			return err
		}
	}
	return nil
}

// remember keeps the vectors of what was read by its title and text. What cannot be read is
// encoded anew.
func (s documentSource) remember(known map[[2]string]vectorsOf, experts []Expert) {
	var title, text string
	if raw, ok := s[fieldTitle]; ok && json.Unmarshal(raw, &title) != nil {
		return
	}
	if json.Unmarshal(s[fieldText], &text) != nil {
		return
	}
	vectors := vectorsOf{}
	for _, x := range experts {
		vector, err := s.vector(x)
		if err != nil {
			return
		}
		vectors[x.Name] = vector
	}
	known[[2]string{title, text}] = vectors
}

// encodeInBatches makes the documents of all passages.
func (w *Writer) encodeInBatches(ctx context.Context, all []*attempt, waited *waited) error {
	for from := 0; from < len(all); from += batchPassages {
		if err := w.encode(ctx, all[from:min(from+batchPassages, len(all))], waited); err != nil {
			return err
		}
	}
	return nil
}
