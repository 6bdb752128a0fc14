package handlers

import (
	"context"
	"sync"
)

// heldTurn is a processor that a call has while it does more than one piece of work with it. A tool of MCP
// gives it back and takes it again in another goroutine than that which serves the request.
type heldTurn struct {
	mu   sync.Mutex
	done func() // nil: the call has none
	held bool   // the call is to have one, but while it waits for something
}

// compute does a piece of the call's work when a processor is free for its group, and returns its error, or the
// context's where that ends first. The piece waits for nothing. A call that holds a turn does it at once.
func (c *call) compute(piece func() error) error { return c.computeIn(c.r.Context(), piece) }

// computeIn works as compute does, with a context of its own.
func (c *call) computeIn(ctx context.Context, piece func() error) error {
	if exchangeOf(c.r.Context()).turn.isHeld() {
		return piece()
	}
	done, err := c.api.options.Admission.Turn(ctx)
	if err != nil {
		return err
	}
	defer done()
	return piece()
}

// computeBody does a piece of work that takes as long as the call's body is large: a small one without waiting
// for a processor.
func (c *call) computeBody(piece func() error) error {
	if c.bodyBytes <= turnBytes {
		return piece()
	}
	return c.compute(piece)
}

// holdTurn takes a processor for all that the call does until letGo, except for what pause surrounds.
func (c *call) holdTurn() (letGo func(), err error) {
	done, err := c.api.options.Admission.Turn(c.r.Context())
	if err != nil {
		return nil, err
	}
	t := &exchangeOf(c.r.Context()).turn
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done, t.held = done, true
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.held = false
		t.giveBack()
	}, nil
}

// pause gives back the processor that the call holds while it waits for the engine, for memory or for a write, until
// goOn. It does nothing for a call that holds none. Where the call's time ends meanwhile, goOn takes none again.
func (c *call) pause() (goOn func()) {
	t := &exchangeOf(c.r.Context()).turn
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done == nil {
		return func() {}
	}
	t.giveBack()
	return func() {
		done, err := c.api.options.Admission.Turn(c.r.Context())
		if err != nil {
			return // whoever looks at the context next ends the call
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.done = done
		if !t.held {
			t.giveBack()
		}
	}
}

// isHeld reports whether the call has a processor now.
func (t *heldTurn) isHeld() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.done != nil
}

// giveBack ends the turn, if there is one. It expects that mu is held.
func (t *heldTurn) giveBack() {
	if t.done != nil {
		t.done()
		t.done = nil
	}
}
