package main

import (
	"fmt"

	"conclave/collection"

	"github.com/spf13/cobra"
)

func newVerify(term terminal) *cobra.Command {
	command := &cobra.Command{
		Use:     "verify",
		Short:   "Check every checksum of a collection and the invariants of its indexes",
		Example: "  conclave verify --collection my-index",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := settings(cmd, term)
			if err != nil {
				return err
			}
			bar := newProgress(term.Err)
			report, err := collection.Verify(cmd.Context(), config.Collection, func(p collection.Progress) {
				bar.Report(string(p.Stage), p.Done, p.Total, p.Unit)
			})
			bar.Finish()
			if err != nil {
				return err
			}
			if report.Pending > 0 {
				_, _ = fmt.Fprintf(term.Err, "%d acknowledged changes wait in the log: a writer makes them visible\n", report.Pending)
			}
			_, err = fmt.Fprintf(term.Out, "%s: generation %d, %d passages in %d segments, %sB: fine\n",
				config.Collection, report.Generation, report.Passages, report.Segments, count(report.Bytes, "bytes"))
			return err
		},
	}
	addConfigFlags(command.Flags(), "collection")
	return command
}
