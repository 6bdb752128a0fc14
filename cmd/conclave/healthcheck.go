package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// newHealthcheck is for containers: an image needs no curl to know whether the
// server in it is ready.
func newHealthcheck(term terminal) *cobra.Command {
	var url string
	var timeout time.Duration
	command := &cobra.Command{
		Use:     "healthcheck",
		Short:   "Exit with 0 when a server is ready (for containers)",
		Example: "  conclave healthcheck --url http://127.0.0.1:8080",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(url, "/")+"/readyz", nil)
			if err != nil {
				return usagef("--url %q: %w", url, err)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return fmt.Errorf("no answer from %s: %w", url, err)
			}
			defer func() { _ = response.Body.Close() }()
			body, _ := io.ReadAll(io.LimitReader(response.Body, 4096))
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("%s is not ready (%s): %s", url, response.Status, strings.TrimSpace(string(body)))
			}
			_, err = fmt.Fprintln(term.Out, "ready")
			return err
		},
	}
	command.Flags().StringVar(&url, "url", "http://127.0.0.1:8080", "base `address` of the server")
	command.Flags().DurationVar(&timeout, "timeout", 3*time.Second, "how long to wait for an answer")
	return command
}
