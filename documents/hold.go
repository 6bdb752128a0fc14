package documents

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

const (
	// heldBytes is how much memory the documents that were read and are not stored yet take together, about,
	// where their readers hold them (HoldResults). A larger one is alone.
	heldBytes = 128 << 20
	// freeBytes is how much one may take beside those.
	freeBytes = 1 << 20
	// pieceBytes is what a passage takes beside its texts: its metadata.
	pieceBytes = 2 << 10
)

// hold is the memory that the documents of one caller have.
type hold struct {
	mu    sync.Mutex
	of    *semaphore.Weighted
	bytes int64
}

type holdKey struct{}

// HoldResults returns a context with which Extractor.Read waits until a document has room in memory beside
// those that others hold, and keeps its process from reading the next file until then. release gives the room
// back. It is called when the document is stored, and before what is attached to it is read.
func HoldResults(ctx context.Context) (held context.Context, release func()) {
	h := &hold{}
	return context.WithValue(ctx, holdKey{}, h), h.release
}

func (h *hold) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of != nil {
		h.of.Release(h.bytes)
	}
	h.of, h.bytes = nil, 0
}

// holdResult waits for the room of a document, where the context holds it. The error is ctx's.
func (p *Pool) holdResult(ctx context.Context, d *Document) error {
	h, holds := ctx.Value(holdKey{}).(*hold)
	cost := min(d.cost(), heldBytes)
	if !holds || cost <= freeBytes {
		return nil
	}
	h.release() // of an earlier reading of the same file
	if err := p.held.Acquire(ctx, cost); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of = p.held
	h.bytes = cost
	return nil
}

// cost returns how many bytes of memory a document takes with its passages, about.
func (d *Document) cost() int64 {
	bytes := 2*len(d.Text) + 100*len(d.Blocks)
	for _, p := range d.pieces {
		bytes += pieceBytes + len(p.Lead)
		for _, heading := range p.Headings {
			bytes += 2 * len(heading)
		}
	}
	return int64(bytes)
}
