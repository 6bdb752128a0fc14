package lookup

import (
	"context"
	"fmt"

	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/storage"
)

// Count returns how many passages match a filter and may be seen by the caller. It returns a *fault.Error of kind
// Invalid if the filter is invalid or does not fit the collection's fields, and of kind Unavailable if counting fails.
// It narrows r.View to the filter.
func (r Reader) Count(ctx context.Context, f storage.Filter) (n int, err error) {
	if err := f.Check(); err != nil {
		return 0, err
	}
	view := r.View
	err = view.Narrow(ctx, f)
	if refused := storage.Refusal(err); refused != nil {
		return 0, refused
	}
	if err == nil && view.Selected == nil { // nothing is asked
		return view.Passages().Len(), nil
	}
	if err == nil {
		err = run.Guard(func() (err error) {
			n, err = view.Selected(ctx)
			return err
		})
	}
	if err != nil {
		return 0, &fault.Error{
			Kind: fault.Unavailable, Code: "unavailable",
			Detail: "the passages could not be counted; the server's log says why", Err: fmt.Errorf("counting passages: %w", err),
		}
	}
	return n, nil
}
