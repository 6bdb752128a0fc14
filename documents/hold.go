package documents

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

const (
	// heldBytes is about how much memory all documents may take together that were read with HoldResults and are not
	// stored yet. A larger document has to wait until it is the only one.
	heldBytes = 128 << 20
	// freeBytes is the size up to which a document need not wait.
	freeBytes = 1 << 20
	// pieceBytes is the memory that the metadata of a passage takes.
	pieceBytes = 2 << 10
)

// hold is the memory reserved for the document that one caller read last.
type hold struct {
	mu     sync.Mutex
	memory *semaphore.Weighted
	bytes  int64
}

// holdKey is the key of a *hold in a context.
type holdKey struct{}

// HoldResults returns a context that bounds the memory of documents that are read and not stored yet: Extractor.Read
// with it waits, and keeps its process busy, until there is room for the document. Call release when the document is
// stored, and before reading the files attached to it; it may be called several times.
func HoldResults(ctx context.Context) (bounded context.Context, release func()) {
	h := &hold{}
	return context.WithValue(ctx, holdKey{}, h), h.release
}

// release gives back the reserved memory, if any; further calls do nothing. It is safe for concurrent use.
func (h *hold) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.memory != nil {
		h.memory.Release(h.bytes)
	}
	h.memory, h.bytes = nil, 0
}

// holdResult waits until there is memory for a document and reserves it, after giving back what ctx had reserved
// before. It returns nil at once if ctx is not from HoldResults or the document is small (freeBytes). The error is
// ctx's.
func (p *Pool) holdResult(ctx context.Context, d *Document) error {
	h, holds := ctx.Value(holdKey{}).(*hold)
	cost := min(d.cost(), heldBytes)
	if !holds || cost <= freeBytes {
		return nil
	}
	h.release() // of an earlier reading of the same file
	if err := p.results.Acquire(ctx, cost); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.memory = p.results
	h.bytes = cost
	return nil
}

// cost returns about how many bytes of memory a document and its passages take.
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
