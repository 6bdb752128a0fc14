package opensearch

import (
	"context"
	"time"

	"example.org/conclave/store/folder"
)

// ApplyTogether makes changes of different passages, all or none: those behind the first,
// in one request, and then the first, which is the record of a document and says which
// version of the others counts (Store.current). So until then searches see the version
// before, in part, and none sees two. The conditions of the others do not count. With an
// error in the first result, others may have been made, and are made good by the next
// attempt; the error of ApplyTogether itself says so too.
func (w *Writer) ApplyTogether(ctx context.Context, changes []folder.Change) ([]folder.ChangeResult, error) {
	w.waiting.Add(int64(len(changes)))
	defer w.waiting.Add(-int64(len(changes)))
	results := make([]folder.ChangeResult, len(changes))
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

// encodeInBatches makes the documents of all passages.
func (w *Writer) encodeInBatches(ctx context.Context, all []*attempt, waited *waited) error {
	for from := 0; from < len(all); from += batchPassages {
		if err := w.encode(ctx, all[from:min(from+batchPassages, len(all))], waited); err != nil {
			return err
		}
	}
	return nil
}
