package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

// health is what healthcheck found, in the form for programs.
type health struct {
	URL    string          `json:"url"`
	Ready  bool            `json:"ready"`
	Status int             `json:"status,omitempty"` // of HTTP
	Answer json.RawMessage `json:"answer,omitempty"` // of /readyz: its components, or the problem
	Error  string          `json:"error,omitempty"`  // where there was no answer
}

// newHealthcheck is for containers: an image needs no curl to know whether the
// server in it is ready.
func newHealthcheck(term terminal) *cobra.Command {
	var url string
	var timeout time.Duration
	var asJSON bool
	command := &cobra.Command{
		Use:     "healthcheck",
		Short:   "Exit with 0 when a server is ready (for containers)",
		Example: "  conclave healthcheck --url http://127.0.0.1:8080\n  conclave healthcheck --json | jq .answer.components",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			base, err := serverAddress(url)
			if err != nil {
				return err
			}
			if timeout <= 0 {
				return usagef("--timeout is %v; it has to be more than 0, such as 3s", timeout)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			found, err := checkHealth(ctx, base)
			if !asJSON {
				if err == nil {
					_, err = fmt.Fprintln(term.Out, "ready")
				}
				return err
			}
			if err := json.NewEncoder(term.Out).Encode(found); err != nil {
				return err
			}
			if err != nil {
				return errSilent
			}
			return nil
		},
	}
	command.Flags().StringVar(&url, "url", "http://127.0.0.1:8080", "base `address` of the server")
	command.Flags().DurationVar(&timeout, "timeout", 3*time.Second, "how long to wait for an answer")
	command.Flags().BoolVar(&asJSON, "json", false, "for programs, with what /readyz says")
	return command
}

// checkHealth asks /readyz. The error says why the server is not ready.
func checkHealth(ctx context.Context, base string) (health, error) {
	found := health{URL: base}
	failed := func(format string, args ...any) (health, error) {
		err := fmt.Errorf(format, args...)
		found.Error = err.Error()
		return found, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		return failed("%s: %w", base, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return failed("no answer from %s: %w", base, err)
	}
	defer func() { _ = response.Body.Close() }()
	found.Status = response.StatusCode
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return failed("reading the answer of %s: %w", base, err)
	}
	if !json.Valid(body) {
		return failed("%s answers %s, and not as conclave does: is it another server?", base, response.Status)
	}
	found.Answer = body
	if response.StatusCode != http.StatusOK {
		return found, fmt.Errorf("%s is not ready: %s", base, problemText(response.Status, body))
	}
	found.Ready = true
	return found, nil
}
