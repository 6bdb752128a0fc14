package adapters

import (
	"context"
	"sync"

	"example.org/conclave/handlers"
	"example.org/conclave/internal/tenant"
	"example.org/conclave/search"
)

// fileTotals says how many files there are, and how large they are together.
type fileTotals struct{ files, bytes int }

// countedFiles keeps what was counted of a generation: programs that wait for their files to be
// read ask for it again and again.
type countedFiles struct {
	mu sync.Mutex
	of map[countedCollection]countedGeneration
}

// countedCollection is a collection as one caller sees it: a key may be for some of its files alone.
type countedCollection struct{ name, caller string }

// mostCounted is of how many of these it is kept what was counted.
const mostCounted = 1000

// countedGeneration says what was counted of a generation.
type countedGeneration struct {
	number   uint64
	passages int // else a collection that was made again could have the number of another one
	totals   fileTotals
}

// countFor returns the totals of what searches see.
func (c *countedFiles) countFor(ctx context.Context, e handlers.DocumentKeeper) (totals fileTotals, err error) {
	generation, passages := e.Generation()
	of := countedCollection{e.Collection(), tenant.Of(ctx)}
	c.mu.Lock()
	kept, known := c.of[of]
	c.mu.Unlock()
	if known && kept.number == generation && kept.passages == passages {
		return kept.totals, nil
	}
	request := search.DocumentsRequest{Limit: e.Limits().K}
	for {
		found, next, err := e.Documents(ctx, request)
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
		if len(c.of) >= mostCounted {
			clear(c.of)
		}
		c.of[of] = countedGeneration{generation, passages, totals}
		c.mu.Unlock()
	}
	return totals, nil
}
