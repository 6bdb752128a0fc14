package search

import (
	"context"
	"fmt"
)

// Count returns how many passages a filter lets through, as searches see them. The error is an *Error where the
// filter cannot be followed.
func (e *Engine) Count(ctx context.Context, f Filter) (n int, err error) {
	if err := f.Check(); err != nil {
		return 0, err
	}
	l, err := e.begin()
	if err != nil {
		return 0, err
	}
	defer l.leave()
	view := e.pin()
	defer view.unpin()
	err = view.narrow(ctx, f)
	if refused := refusal(err); refused != nil {
		return 0, refused
	}
	if err == nil && view.selected == nil { // nothing is asked
		return view.Passages().Len(), nil
	}
	if err == nil {
		err = guard(func() (err error) {
			n, err = view.selected(ctx)
			return err
		})
	}
	if err != nil {
		return 0, &Error{
			Kind: Unavailable, Code: "unavailable",
			Detail: "the passages could not be counted; the server's log says why", Err: fmt.Errorf("counting passages: %w", err),
		}
	}
	return n, nil
}
