package main

import (
	"encoding/json"
	"fmt"
	"runtime"

	"conclave/provision"

	"github.com/spf13/cobra"
)

func newVersion(term terminal) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  conclave version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return json.NewEncoder(term.Out).Encode(map[string]string{
					"version": version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
					"onnxruntime": provision.RuntimeVersion,
				})
			}
			_, err := fmt.Fprintf(term.Out, "conclave %s (%s, %s/%s, for ONNX Runtime %s)\n",
				version, runtime.Version(), runtime.GOOS, runtime.GOARCH, provision.RuntimeVersion)
			return err
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "for programs")
	return command
}
