package main

import (
	"errors"
	"os"

	"conclave/collection"
	"conclave/configs"

	"github.com/spf13/cobra"
)

func newExport(term terminal) *cobra.Command {
	var out, vectors string
	command := &cobra.Command{
		Use:   "export",
		Short: "Write all passages as JSON Lines, and their vectors",
		Long: `Writes the passages that searches see as JSON Lines, which 'conclave index' reads,
in the byte order of their ids. --vectors also writes the vectors of each expert to
EXPERT.npy: float32, one row for each line. Late interaction, which has a list of
vectors for each passage, is left out.`,
		Example: `  conclave export --collection my-index > passages.jsonl
  conclave export --collection my-index --out passages.jsonl --vectors vectors`,
		Args: cobra.NoArgs,
		RunE: configured(term, func(cmd *cobra.Command, config configs.Config) (err error) {
			c, err := collection.Open(config.Collection)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, c.Close()) }()
			g := c.Acquire()
			defer g.Release()
			to := term.Out
			if out != "" {
				file, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, file.Close()) }()
				to = file
			}
			if err := g.ExportPassages(cmd.Context(), to); err != nil || vectors == "" {
				return err
			}
			return g.ExportVectors(cmd.Context(), vectors)
		}),
	}
	addConfigFlags(command.Flags(), "collection")
	command.Flags().StringVar(&out, "out", "", "`file` to write, which must not exist yet (default: standard output)")
	command.Flags().StringVar(&vectors, "vectors", "", "`folder` for the experts' vectors")
	return command
}
