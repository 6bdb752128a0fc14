package adapters

import (
	"context"
	"sync"

	"example.org/conclave/handlers"
	"example.org/conclave/internal/identity"
	"example.org/conclave/search"
	"example.org/conclave/search/lookup"
)

// fileTotals is the number of files of a collection and their total size in bytes.
type fileTotals struct{ files, bytes int }

// countedFiles caches the totals of each collection and caller for one generation, since programs that wait for their
// files to be read poll them. It is safe for concurrent use.
type countedFiles struct {
	mu      sync.Mutex
	counted map[countedCollection]countedGeneration
}

// countedCollection is the cache key of countedFiles: a collection and a caller, since a key with a filter sees only
// some of the files.
type countedCollection struct{ name, caller string }

// mostCounted is the number of cached totals at which the cache is cleared.
const mostCounted = 1000

// countedGeneration is the cached totals of one generation.
type countedGeneration struct {
	number   uint64
	passages int // of the generation; a collection that was created again can have the same number
	totals   fileTotals
}

// countFor returns the number and the bytes of the files in e's collection that ctx's caller may search. It counts them
// only if the collection's generation or its number of passages has changed since the last call. It fails if the
// documents cannot be listed.
func (c *countedFiles) countFor(ctx context.Context, e handlers.DocumentKeeper) (totals fileTotals, err error) {
	generation, passages := e.Generation()
	key := countedCollection{e.Collection(), identity.Of(ctx).Name}
	c.mu.Lock()
	kept, known := c.counted[key]
	c.mu.Unlock()
	if known && kept.number == generation && kept.passages == passages {
		return kept.totals, nil
	}
	request := lookup.DocumentsRequest{Limit: e.Limits().K}
	for {
		found, next, err := e.Documents(ctx, search.Caller{}, request)
		if err != nil {
			return totals, err
		}
		totals.files += len(found)
		for _, d := range found {
			totals.bytes += d.Bytes
		}
		if next == "" {
			break
		}
		request.After = next
	}
	// What was published meanwhile is counted when it is asked for again.
	if after, _ := e.Generation(); after == generation {
		c.mu.Lock()
		if len(c.counted) >= mostCounted {
			clear(c.counted)
		}
		c.counted[key] = countedGeneration{generation, passages, totals}
		c.mu.Unlock()
	}
	return totals, nil
}
