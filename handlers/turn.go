package handlers

import (
	"context"

	"example.org/conclave/handlers/front"
)

// compute waits until a processor is free for the call's group, runs piece with it, and returns piece's error. If the
// request's context ends first, piece is not run and the error is the context's. A call that holds a turn (holdTurn)
// runs piece at once. piece must not wait for anything.
func (c *call) compute(piece func() error) error { return c.computeIn(c.r.Context(), piece) }

// computeIn waits until a processor is free for the call's group, runs piece with it, and returns piece's error. If ctx
// ends first, piece is not run and the error is ctx's; the end of the request alone does not end the wait. A call that
// holds a turn (holdTurn) runs piece at once. piece must not wait for anything.
func (c *call) computeIn(ctx context.Context, piece func() error) error {
	if front.ExchangeOf(c.r.Context()).Turn.IsHeld() {
		return piece()
	}
	done, err := c.api.options.Admission.Turn(ctx)
	if err != nil {
		return err
	}
	defer done()
	return piece()
}

// computeBody runs piece, whose time grows with the size of the request's body, and returns its error. For a body of
// more than turnBytes it first waits for a processor; if the request ends meanwhile, piece is not run and the error is
// the context's.
func (c *call) computeBody(piece func() error) error {
	if c.bodyBytes <= turnBytes {
		return piece()
	}
	return c.compute(piece)
}

// holdTurn waits for a processor and keeps it until letGo is called, except while it is lent (lendTurn). It returns the
// context's error if the request ends first.
func (c *call) holdTurn() (letGo func(), err error) {
	done, err := c.api.options.Admission.Turn(c.r.Context())
	if err != nil {
		return nil, err
	}
	t := &front.ExchangeOf(c.r.Context()).Turn
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.Done, t.Held = done, true
	return func() {
		t.Mu.Lock()
		defer t.Mu.Unlock()
		t.Held = false
		t.GiveBack()
	}, nil
}

// lendTurn gives back the processor that the call holds (holdTurn) before it waits for something, such as the engine,
// memory or a write. Call goOn after the wait: it waits for a processor again, but has none if the request has ended.
// For a call that holds no processor both do nothing.
func (c *call) lendTurn() (goOn func()) {
	t := &front.ExchangeOf(c.r.Context()).Turn
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if t.Done == nil {
		return func() {}
	}
	t.GiveBack()
	return func() {
		done, err := c.api.options.Admission.Turn(c.r.Context())
		if err != nil {
			return // whoever looks at the context next ends the call
		}
		t.Mu.Lock()
		defer t.Mu.Unlock()
		t.Done = done
		if !t.Held {
			t.GiveBack()
		}
	}
}
