package search

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
)

// explainFailure returns the error for users of a request whose sources answered but whose response could not be made
// because of cause. If the caller is gone, it is the context's error; a *fault.Error stays as it is; otherwise it is a
// *fault.Error of kind Deadline or Unavailable.
func explainFailure(ctx context.Context, timeout time.Duration, cause error) error {
	var known *fault.Error
	if err := run.CheckCaller(ctx); err != nil {
		return err
	}
	switch {
	case errors.As(cause, &known):
		return known
	case errors.Is(cause, context.DeadlineExceeded):
		return &fault.Error{Kind: fault.Deadline, Code: "deadline", Err: cause,
			Detail: fmt.Sprintf(
				"the sources answered, and the answer was not put together within %g ms", run.Milliseconds(timeout),
			)}
	}
	return &fault.Error{
		Kind:   fault.Unavailable,
		Code:   "failed",
		Detail: "the answer could not be put together; the server's log says why",
		Err:    cause,
	}
}
