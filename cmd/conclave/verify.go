package main

import (
	"encoding/json"
	"fmt"

	"conclave/collection"

	"github.com/spf13/cobra"
)

// verification is what verify found, in the form for programs.
type verification struct {
	Collection string `json:"collection"`
	OK         bool   `json:"ok"`
	Generation uint64 `json:"generation"`
	Segments   int    `json:"segments"`
	Passages   int    `json:"passages"`
	Experts    int    `json:"experts"`
	Bytes      int64  `json:"bytes"`   // read and compared with their checksums
	Pending    int    `json:"pending"` // acknowledged changes that no segment holds yet
	Error      string `json:"error,omitempty"`
}

func newVerify(term terminal) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:     "verify",
		Short:   "Check every checksum of a collection and the invariants of its indexes",
		Example: "  conclave verify --collection my-index\n  conclave verify --collection my-index --json | jq .ok",
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
			if asJSON && cmd.Context().Err() == nil {
				return printVerification(term, config.Collection, report, err)
			}
			if err != nil {
				return err
			}
			if report.Pending > 0 {
				_, _ = fmt.Fprintf(term.Err, "acknowledged changes that wait in the log: %d; a writer makes them visible\n", report.Pending)
			}
			_, err = fmt.Fprintf(term.Out, "%s: generation %d, %s in %s, %s: fine\n",
				config.Collection, report.Generation, plural(int64(report.Passages), "passage"), plural(int64(report.Segments), "segment"), count(report.Bytes, "bytes"))
			return err
		},
	}
	addConfigFlags(command.Flags(), "collection")
	command.Flags().BoolVar(&asJSON, "json", false, "report for programs")
	return command
}

// printVerification writes what was found, also when it is damage.
func printVerification(term terminal, folder string, r collection.VerifyReport, failed error) error {
	v := verification{
		Collection: folder, OK: failed == nil, Generation: r.Generation, Segments: r.Segments,
		Passages: r.Passages, Experts: r.Experts, Bytes: r.Bytes, Pending: r.Pending,
	}
	if failed != nil {
		v.Error = failed.Error()
	}
	if err := json.NewEncoder(term.Out).Encode(v); err != nil {
		return err
	}
	if failed != nil {
		return errSilent
	}
	return nil
}
