package cluster

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"example.org/conclave/store"
)

// Unavailable returns err as a *store.UnavailableError if it says that the cluster did not answer in time, had too
// much to do (status 429, 5xx), or lacked a shard; any other error as it is, and nil for nil.
func Unavailable(err error) error {
	var status *StatusError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &status):
		if status.Status < http.StatusInternalServerError && status.Status != http.StatusTooManyRequests {
			return err
		}
	case !errors.As(err, new(*UnreachableError)) && !errors.As(err, new(*url.Error)) &&
		!errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errHangs) && !errors.Is(err, ErrAnswer):
		return err
	}
	return &store.UnavailableError{Err: err}
}
