package handlers

import (
	"context"
	"sync"
)

// heldTurn is the processor that a call keeps for several pieces of work (holdTurn). It has a lock because a tool of
// MCP gives it back and takes it again in another goroutine than the one that serves the request.
type heldTurn struct {
	mu   sync.Mutex
	done func() // gives the processor back; nil: the call has none now
	held bool   // between holdTurn and letGo: the call gets a processor again after each pause
}

// compute waits until a processor is free for the call's group, runs piece with it, and returns piece's error. If the
// request's context ends first, piece is not run and the error is the context's. A call that holds a turn (holdTurn)
// runs piece at once. piece must not wait for anything.
func (c *call) compute(piece func() error) error { return c.computeIn(c.r.Context(), piece) }

// computeIn runs piece as compute does; ctx, instead of the request's context, ends the wait for a processor.
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

// computeBody runs piece, whose time grows with the size of the request's body. For a body of up to turnBytes it runs
// at once, otherwise as compute does.
func (c *call) computeBody(piece func() error) error {
	if c.bodyBytes <= turnBytes {
		return piece()
	}
	return c.compute(piece)
}

// holdTurn waits for a processor and keeps it until letGo is called, except between pause and goOn. It returns the
// context's error if the request ends first.
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

// pause gives back the processor that the call holds (holdTurn) before it waits for something, such as the engine,
// memory or a write. Call goOn after the wait: it waits for a processor again, but has none if the request has ended.
// For a call that holds no processor both do nothing.
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

// giveBack gives the processor back, if there is one. mu must be held.
func (t *heldTurn) giveBack() {
	if t.done != nil {
		t.done()
		t.done = nil
	}
}
