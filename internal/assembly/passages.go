package assembly

import (
	"context"

	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
)

// Passages finds passages by their ids.
type Passages interface {
	Ordinal(id string) (rank.Ordinal, bool, error)
}

// Passages returns the passages that searches see now; later writes do not change them. ctx ends its lookups. Call
// done when they are no longer needed: they hold the store's files.
func (a *Assembly) Passages(ctx context.Context) (p Passages, done func()) {
	v := a.Store.Acquire()
	return pinnedPassages{ctx, v.Passages()}, v.Release
}

// pinnedPassages is a Passages whose lookups all end with one context.
type pinnedPassages struct {
	ctx      context.Context
	passages storage.Passages
}

// Ordinal returns the ordinal of the passage with this id; false if there is none. It fails if the index of ids cannot
// be read.
func (p pinnedPassages) Ordinal(id string) (rank.Ordinal, bool, error) {
	return p.passages.Ordinal(p.ctx, id)
}

// IDs returns the ids of these passages, in their order, as searches see them now. The ordinals must be of this
// generation. It fails if one cannot be read.
func (a *Assembly) IDs(ctx context.Context, passages []rank.Ordinal) ([]string, error) {
	v := a.Store.Acquire()
	defer v.Release()
	read, err := v.Passages().Read(ctx, passages)
	ids := make([]string, len(read))
	for i, p := range read {
		ids[i] = p.ID
	}
	return ids, err
}
