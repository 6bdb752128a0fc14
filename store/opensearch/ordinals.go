package opensearch

import (
	"sync"

	"example.org/conclave/internal/rank"
)

// table gives passages ordinals, as their ids appear. Ordinals of different requests are
// of the same passages as long as they have one table.
type table struct {
	mu    sync.RWMutex
	at    map[string]rank.Ordinal
	ids   []string
	bytes []int // 0: not known
	// prints are the fingerprints as they were when the passages were found last; 0: not known.
	prints []uint64
	most   int // passages that it knows before a new one begins
}

// newTable returns an empty table of ordinals, which counts as full (isFull) from most passages on.
func newTable(most int) *table { return &table{at: map[string]rank.Ordinal{}, most: most} }

// isFull reports whether the table knows at least as many passages as newTable was told.
func (t *table) isFull() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.ids) >= t.most
}

// ordinal returns the ordinal of an id, a new one for a new id, and notes the passage's bytes and fingerprint unless
// they are 0. print is the fingerprint.
func (t *table) ordinal(id string, bytes int, print uint64) rank.Ordinal {
	t.mu.Lock()
	defer t.mu.Unlock()
	o, ok := t.at[id]
	if !ok {
		o = rank.Ordinal(len(t.ids))
		t.at[id] = o
		t.ids = append(t.ids, id)
		t.bytes = append(t.bytes, 0)
		t.prints = append(t.prints, 0)
	}
	if bytes > 0 {
		t.bytes[o] = bytes
	}
	if print != 0 {
		t.prints[o] = print
	}
	return o
}

// knownOrdinal returns the ordinal of an id, and nowhere if the table does not have it.
func (t *table) knownOrdinal(id string) rank.Ordinal {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if o, ok := t.at[id]; ok {
		return o
	}
	return nowhere
}

// idsOf returns the ids of ordinals, in their order. It panics for an ordinal that the table did not give.
func (t *table) idsOf(ordinals []rank.Ordinal) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := make([]string, len(ordinals))
	for i, o := range ordinals {
		out[i] = t.ids[o]
	}
	return out
}
