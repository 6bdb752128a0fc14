package adapters

import (
	"context"
	"sync"

	"example.org/conclave/handlers"
	"example.org/conclave/search"
)

// fileTotals says how many files there are, and how large they are together.
type fileTotals struct{ files, bytes int }

// countedFiles keeps what was counted of a generation: programs that wait for their files to be
// read ask for it again and again.
type countedFiles struct {
	mu         sync.Mutex
	generation uint64 // 0: nothing was counted
	totals     fileTotals
}

// of returns the totals of what searches see.
func (c *countedFiles) of(ctx context.Context, e handlers.DocumentKeeper) (totals fileTotals, err error) {
	generation, _ := e.Generation()
	c.mu.Lock()
	kept := c.totals
	known := generation != 0 && c.generation == generation
	c.mu.Unlock()
	if known {
		return kept, nil
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
		c.generation, c.totals = generation, totals
		c.mu.Unlock()
	}
	return totals, nil
}
