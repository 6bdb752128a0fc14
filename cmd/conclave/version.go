package main

import (
	"runtime"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/internal/provision"

	"github.com/spf13/cobra"
)

func newVersion(term cli.Terminal) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  conclave version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			about := map[string]string{
				"version": version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
				"onnxruntime": provision.RuntimeVersion,
			}
			return cli.Show(term.Out, asJSON, about, func(w *cli.ErrWriter) {
				w.Printf(
					"conclave %s (%s, %s, for ONNX Runtime %s)\n",
					version,
					about["go"],
					about["platform"],
					provision.RuntimeVersion,
				)
			})
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}
