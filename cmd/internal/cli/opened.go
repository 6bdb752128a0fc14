package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"example.org/conclave/configs"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/search"
	"example.org/conclave/search/reply"
)

// OpenCollection opens the configured collection, calls do with it, closes it, and returns both errors joined. If it
// cannot be opened, do is not called. With uncalibrated, the collection's own calibration is not used. An expert whose
// bundle is damaged is left out, with a warning on Terminal.Err.
func OpenCollection(config configs.Config, term Terminal, uncalibrated bool, do func(*assembly.Assembly) error) error {
	l, err := assembly.Open(
		assembly.Options{
			Config:       config,
			Log:          NewPlainLogger(term.Err, config.Log),
			Observer:     FailureWriter{Out: term.Err},
			Uncalibrated: uncalibrated,
		},
	)
	if err != nil {
		return err
	}
	return errors.Join(do(l), l.Close())
}

// FailureWriter is a search.Observer that writes to Out why a source failed, as a server writes it to its log.
type FailureWriter struct {
	search.NoObserver
	Out io.Writer
}

// Source implements search.Observer: it writes the cause to c.Out if a source failed.
func (c FailureWriter) Source(_ context.Context, source, status string, cause error) {
	if cause != nil && status == reply.StatusFailed {
		_, _ = fmt.Fprintf(c.Out, "%s failed: %v\n", source, cause)
	}
}
