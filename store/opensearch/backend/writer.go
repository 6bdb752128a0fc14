package backend

import (
	"context"

	"example.org/conclave/search/storage"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch"
)

// writer changes the passages of an index (store.Writer). A change is acknowledged when the cluster has it with its
// vectors, so nothing is kept here.
type writer struct {
	*opensearch.Writer
	corpus *opensearch.Corpus
}

// Write returns a writer of the index with encoders of all its experts. It returns a *store.WriteError if the cluster
// does not let this user write. From then on Watch finishes changes that dead writers left.
func (b *backend) Write(ctx context.Context, o store.WriteOptions) (store.Writer, error) {
	stored := b.Store()
	if err := stored.MayWrite(ctx); err != nil {
		return nil, &store.WriteError{Err: err}
	}
	w, err := opensearch.NewWriter(stored, o.Encoders, o.Shared)
	if err != nil {
		return nil, err
	}
	b.writing.Store(w)
	return &writer{w, b.Corpus}, nil
}

// Wait waits until searches see the change with a sequence number; 0: all changes that were acknowledged before the
// call. In an index with few passages it then draws the random sample again that the confidence of answers needs. It
// fails if the cluster does not answer within the writer's patience or ctx ends, not if drawing the sample fails.
func (w *writer) Wait(ctx context.Context, seq uint64) error {
	if err := w.Writer.Wait(ctx, seq); err != nil {
		return err
	}
	_ = w.corpus.FillSample(ctx) // else whoever watches does
	return nil
}

// Visible waits until searches see all changes that were acknowledged before the call. It never calls its second
// argument, since the cluster has no backlog. It fails if the cluster does not answer within the writer's patience or
// ctx ends.
func (w *writer) Visible(ctx context.Context, _ func(store.Backlog) error) error {
	return w.Wait(ctx, 0)
}

// Selected returns the passages that searches see and that a filter lets through, as the index is now. The caller has
// to close it. It returns a *conditions.MisfitError if the filter's values do not fit the fields.
func (w *writer) Selected(ctx context.Context, f storage.Filter) (store.SelectedPassages, error) {
	scan, err := w.corpus.ScanSelected(ctx, f)
	if err != nil {
		return nil, err
	}
	return selectedPassages{scan}, nil
}

// TogetherBytes returns 0: ApplyTogether takes the passages of one document only.
func (w *writer) TogetherBytes() int { return 0 }

// selectedPassages is a scan of the passages that a filter lets through.
type selectedPassages struct{ *opensearch.Scan }

// Total returns the number of passages; -1 before the first call of Next.
func (t selectedPassages) Total() int64 {
	_, total := t.Progress()
	return total
}

// Experts returns a *store.ElsewhereError always: experts are added and removed by `conclave index`, after which the
// servers have to be started again.
func (w *writer) Experts() (store.ServedExperts, error) {
	return nil, elsewhereError("every server of this index needs the bundles of its experts: add and remove experts with conclave index, and start the servers again")
}

// Snapshots returns a *store.ElsewhereError always: make snapshots with the cluster's own means.
func (w *writer) Snapshots() (store.Snapshots, error) {
	return nil, elsewhereError("make snapshots with the cluster's own means")
}

// elsewhereError returns a *store.ElsewhereError, which says that an operation is not done by the server of a cluster.
// how is a sentence for users on how to do it instead.
func elsewhereError(how string) error {
	return &store.ElsewhereError{Instead: "the passages are in a store: " + how}
}
