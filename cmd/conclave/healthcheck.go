package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"conclave/client"

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
			if err != nil && !asJSON {
				return err
			}
			return errors.Join(told(err), show(term.Out, asJSON, found, func(w *errWriter) { w.printf("ready\n") }))
		},
	}
	command.Flags().StringVar(&url, "url", "http://127.0.0.1:8080", "base `address` of the server")
	command.Flags().DurationVar(&timeout, "timeout", 3*time.Second, "how long to wait for an answer")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON, with the answer of /readyz")
	return command
}

// checkHealth asks /readyz. The error says why the server is not ready.
func checkHealth(ctx context.Context, base string) (found health, err error) {
	found.URL = base
	defer func() {
		if err != nil && found.Answer == nil {
			found.Error = err.Error()
		}
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		return found, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return found, fmt.Errorf("no answer from %s: %w", base, err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return found, fmt.Errorf("reading the answer of %s: %w", base, err)
	}
	found.Status = answer.StatusCode
	if !json.Valid(body) {
		return found, fmt.Errorf("%s answers %s, and not as conclave does: is it another server?", base, answer.Status)
	}
	found.Answer, found.Ready = body, answer.StatusCode == http.StatusOK
	if !found.Ready {
		var problem client.Problem
		_ = json.Unmarshal(body, &problem) // else there is no detail
		return found, fmt.Errorf("%s is not ready: %s: %s", base, answer.Status, problem.Detail)
	}
	return found, nil
}
