package main

import (
	"context"
	"errors"
	"fmt"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/internal/originals"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"

	"github.com/spf13/cobra"
)

// verification is what verify found, in the form for programs.
type verification struct {
	Collection string `json:"collection"`
	OK         bool   `json:"ok"`
	folder.VerifyReport
	Originals     int    `json:"originals"` // kept files of uploaded documents
	OriginalBytes int64  `json:"original_bytes"`
	Error         string `json:"error,omitempty"`
}

// newVerify returns the command `conclave verify`, which verifies every checksum of a collection and the invariants of
// its indexes.
func newVerify(term cli.Terminal) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:     "verify",
		Short:   "Check every checksum of a collection and the invariants of its indexes",
		Example: "  conclave verify --collection my-index\n  conclave verify --collection my-index --json | jq .ok",
		Args:    cobra.NoArgs,
		RunE: cli.WithSettings(term, func(cmd *cobra.Command, config configs.Config) error {
			bar := cli.NewProgress(term.Err)
			report, err := folder.Verify(cmd.Context(), config.Collection, func(p store.Progress) {
				bar.Report(string(p.Stage), p.Done, p.Total, p.Unit)
			})
			bar.Finish()
			verified := verification{Collection: config.Collection, VerifyReport: report}
			if err == nil {
				verified.Originals, verified.OriginalBytes, err = originals.Verify(
					cmd.Context(), config.Collection, func(ctx context.Context) (map[string]string, error) {
						return folder.KeptCopies(ctx, config.Collection)
					},
				)
			}
			if err != nil && (!asJSON || cmd.Context().Err() != nil) {
				return err
			}
			verified.OK = err == nil
			if err != nil {
				verified.Error = err.Error()
			}
			return errors.Join(cli.Silence(err), cli.Show(term.Out, asJSON, verified, func(w *cli.ErrWriter) {
				if report.Pending > 0 {
					_, _ = fmt.Fprintf(
						term.Err, "acknowledged changes that wait in the log: %d; a writer makes them visible\n",
						report.Pending,
					)
				}
				if verified.Originals > 0 {
					w.Printf("%s, %s\n", cli.Plural(int64(verified.Originals), "kept file"),
						cli.Count(verified.OriginalBytes, "bytes"))
				}
				w.Printf(
					"%s: generation %d, %s in %s, %s: fine\n", config.Collection, report.Generation,
					cli.Plural(int64(report.Passages), "passage"), cli.Plural(int64(report.Segments), "segment"),
					cli.Count(report.Bytes, "bytes"),
				)
			}))
		}),
	}
	configs.AddFlags(command.Flags(), "collection")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}
