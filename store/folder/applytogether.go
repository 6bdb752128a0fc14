package folder

import (
	"context"

	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/wal"
)

// ApplyTogether makes all changes or none, also after a crash, and searches see them at once. There is a result for
// each change, in their order. If one of the results has an error, none was made, and the other results mean nothing.
// It returns store.ErrTooMuch if the changes have more than TogetherBytes bytes, and fails if the collection is closed
// or cannot be written, or ctx ends.
func (l *Live) ApplyTogether(ctx context.Context, changes []store.Change) ([]store.ChangeResult, error) {
	r, err := prepare(changes, maxTogether)
	if err != nil {
		return nil, err
	}
	for i := range r.results {
		if r.results[i].Err != nil {
			return r.results, nil
		}
	}
	r.together = true
	return l.submit(ctx, r)
}

// addTogether adds all changes of a request to the group. If one of them fails, it adds none, and its result has the
// error.
func (g *commitGroup) addTogether(r *commitRequest) {
	had := len(g.entries)
	staged := map[string]string{}
	isStaged := map[string]bool{}
	for i := range r.changes {
		id := r.results[i].ID
		if _, seen := staged[id]; !seen {
			staged[id], isStaged[id] = g.staged[id], false
			_, isStaged[id] = g.staged[id]
		}
	}
	for i := range r.changes {
		g.add(&r.changes[i], &r.results[i])
		if r.results[i].Err == nil {
			continue
		}
		g.entries, g.results = g.entries[:had], g.results[:had]
		for id, version := range staged {
			g.staged[id] = version
			if !isStaged[id] {
				delete(g.staged, id)
			}
		}
		return
	}
	for i := had; i < len(g.entries)-1; i++ {
		g.entries[i].Kind |= wal.Joined
	}
}
