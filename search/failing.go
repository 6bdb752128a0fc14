package search

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
)

// explainFailure returns the error of a request whose sources answered and that has no
// answer for all that.
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
				"the sources answered, and the answer was not put together within %g ms",
				run.Milliseconds(timeout),
			)}
	}
	return &fault.Error{
		Kind:   fault.Unavailable,
		Code:   "failed",
		Detail: "the answer could not be put together; the server's log says why",
		Err:    cause,
	}
}
