package backend

import (
	"context"

	"example.org/conclave/search"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch"
)

// writer changes an index. A change is acknowledged when the cluster has it with its vectors, so
// nothing is kept here.
type writer struct {
	*opensearch.Writer
	store *opensearch.Store
}

// Write implements store.Backend.
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
	return &writer{w, stored}, nil
}

// Visible implements store.Writer. The cluster shows at once what it acknowledged.
func (w *writer) Visible(ctx context.Context, _ func(store.Backlog) error) error {
	return w.Writer.Visible(ctx)
}

// Tagged implements store.Writer.
func (w *writer) Tagged(ctx context.Context, all, some []string) (store.Tagged, error) {
	scan, err := w.store.ScanTagged(ctx, search.Filter{TagsAll: all, TagsAny: some})
	if err != nil {
		return nil, err
	}
	return tagged{scan}, nil
}

// tagged is a scan of the passages with some tags.
type tagged struct{ *opensearch.Scan }

// Total implements store.Tagged.
func (t tagged) Total() int64 {
	_, total := t.Progress()
	return total
}

// Experts implements store.Writer.
func (w *writer) Experts() (store.ServedExperts, error) {
	return nil, elsewhere("every server in front of it needs an expert's bundle, so experts are added and removed from outside, and the servers are started anew")
}

// Snapshots implements store.Writer.
func (w *writer) Snapshots() (store.Snapshots, error) {
	return nil, elsewhere("the cluster makes snapshots by its own means")
}

func elsewhere(how string) error {
	return &store.ElsewhereError{Instead: "the passages are in a store: " + how}
}
