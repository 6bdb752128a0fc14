package main

import (
	"context"
	"errors"
	"time"

	client "example.org/conclave/client/go"
	"example.org/conclave/cmd/internal/cli"

	"github.com/spf13/cobra"
)

// newHealthcheck returns the command healthcheck, which asks a server's /readyz and fails if the server is not ready.
// Containers use it, so that an image needs no curl.
func newHealthcheck(term cli.Terminal) *cobra.Command {
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
				return cli.Usagef("--timeout is %v; it has to be more than 0, such as 3s", timeout)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			found, err := (&client.Client{Address: base}).Health(ctx)
			if err != nil && !asJSON {
				return err
			}
			return errors.Join(
				cli.Silence(err), cli.Show(term.Out, asJSON, found, func(w *cli.ErrWriter) { w.Printf("ready\n") }),
			)
		},
	}
	command.Flags().StringVar(&url, "url", "http://127.0.0.1:8080", "base `address` of the server")
	command.Flags().DurationVar(&timeout, "timeout", 3*time.Second, "how long to wait for an answer")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON, with the answer of /readyz")
	return command
}
