package backend

import (
	"context"
	"fmt"
	"sync"
	"time"

	"example.org/conclave/store"
	"example.org/conclave/store/opensearch"
)

// lookEvery is how often the cluster is asked how the index is, lookTime how long it has to say
// so, and readingWords how long to say how the words of the index are written.
const (
	lookEvery    = 5 * time.Second
	lookTime     = 10 * time.Second
	readingWords = 2 * time.Minute
)

// mostDeleted is the largest share of deleted passages in the statistics of words without a warning.
const mostDeleted = .1

// conditionOf is the name of the store among the conditions of a server.
const conditionOf = "store"

// Watch looks at the index every lookEvery until ctx ends, and reports its condition, its numbers and a new calibration
// to w. Meanwhile it reads the words of the index again when passages were changed, and finishes changes of documents
// that dead servers began.
func (b *backend) Watch(ctx context.Context, w store.Watcher) {
	var reading sync.WaitGroup
	defer reading.Wait()
	reading.Go(func() { b.watchWords(ctx) })
	reading.Go(func() { b.mendDocuments(ctx) })
	for ctx.Err() == nil {
		looking, cancel := context.WithTimeout(ctx, lookTime)
		health, err := b.Look(looking)
		cancel()
		if ctx.Err() != nil {
			return
		}
		w.Is(conditionIn(health, err))
		if err == nil {
			w.ReadsPassages(readsOf(health.Statistics))
		}
		if health.Recalibrated {
			w.Recalibrated()
		}
		pause(ctx)
	}
}

// pause waits for lookEvery, or until ctx ends.
func pause(ctx context.Context) {
	select {
	case <-time.After(lookEvery):
	case <-ctx.Done():
	}
}

// watchWords reads the words of the index again after passages were changed, until ctx ends. Failures are warned of.
func (b *backend) watchWords(ctx context.Context) {
	for pause(ctx); ctx.Err() == nil; pause(ctx) {
		reading, cancel := context.WithTimeout(ctx, readingWords)
		err := b.ReadWords(reading)
		if cancel(); err != nil && ctx.Err() == nil {
			b.warn("mistyped words are corrected by the words as they were", err)
		}
	}
}

// mendDocuments finishes, from time to time until ctx ends, the changes of documents that dead servers began. It does
// so only while this process writes. Failures are warned of, and tried again.
func (b *backend) mendDocuments(ctx context.Context) {
	for pause(ctx); ctx.Err() == nil; pause(ctx) {
		w := b.writing.Load()
		if w == nil {
			continue
		}
		if err := w.Mend(ctx); err != nil && ctx.Err() == nil {
			b.warn("changes of documents that another writer left unfinished could not be finished; it is tried again", err)
		}
	}
}

// conditionIn returns the condition of an index by what a look at it found, or by the error of the look.
func conditionIn(h opensearch.Health, err error) store.Condition {
	c := store.Condition{Of: conditionOf}
	switch {
	case err != nil:
		c.Failed = err.Error()
		c.Gone = opensearch.Replaced(err)
	case h.Status == "red":
		c.Failed = "a shard of the index has no copy (its health is red), so passages cannot be found"
	case h.Status != "green":
		c.Warnings = append(c.Warnings, fmt.Sprintf("the index's health is %s: %s", h.Status, h.MissingCopies()))
	}
	c.Warnings = append(c.Warnings, h.Limits...)
	if h.Blocked != "" {
		c.Warnings = append(c.Warnings, blocked(h))
	}
	if all := h.Passages + h.Deleted; err == nil && float64(h.Deleted) > mostDeleted*float64(all) {
		c.Warnings = append(
			c.Warnings,
			fmt.Sprintf(
				"of the passages in the statistics of words, up to %.0f %% were deleted: settling the index merges them away",
				100*float64(h.Deleted)/float64(all),
			),
		)
	}
	return c
}

// blocked returns the warning that an index takes no changes, with the reason and how that ends.
func blocked(h opensearch.Health) string {
	return "the index takes no changes, by " + h.Blocked + ": searches go on, and writes are refused until the block is taken away; after a full disk the cluster takes it away by itself when there is room"
}

// readsOf returns how the experts read the passages of an index.
func readsOf(n opensearch.Statistics) store.Reads {
	return store.Reads{Known: int(n.Passages), Cut: int(n.Cut), Unread: int(n.Unread)}
}
