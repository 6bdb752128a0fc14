package assembly

import (
	"context"

	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
)

// Passages find passages by their ids.
type Passages interface {
	Ordinal(id string) (rank.Ordinal, bool, error)
}

// Passages returns those that searches see. done is to be called when they are not needed
// any more.
func (a *Assembly) Passages(ctx context.Context) (p Passages, done func()) {
	v := a.Store.Acquire()
	return pinnedPassages{ctx, v.Passages()}, v.Release
}

// pinnedPassages are asked for as long as a context lasts.
type pinnedPassages struct {
	ctx context.Context
	of  storage.Passages
}

func (p pinnedPassages) Ordinal(id string) (rank.Ordinal, bool, error) {
	return p.of.Ordinal(p.ctx, id)
}

// IDs returns those of passages, in their order.
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
