package main

import (
	"fmt"

	"conclave/collection"

	"github.com/spf13/cobra"
)

func newSnapshot(term terminal) *cobra.Command {
	var out string
	command := &cobra.Command{
		Use:   "snapshot",
		Short: "Copy the newest generation of a collection by hard links, also while it is served",
		Long: `Makes a folder that is a collection of its own and shares its files with the
original, so it takes no space until the original drops them. Both have to be on
one file system. To restore a snapshot is to serve it.`,
		Example: "  conclave snapshot --collection my-index --out my-index-monday",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := settings(cmd, term)
			if err != nil {
				return err
			}
			if out == "" {
				return usagef("--out is needed: the folder to make")
			}
			r, err := collection.Snapshot(cmd.Context(), config.Collection, out)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(term.Out, "%s: generation %d, %d passages, %d files, %s shared\n", out, r.Generation, r.Passages, r.Files, count(r.Bytes, "bytes"))
			return err
		},
	}
	addConfigFlags(command.Flags(), "collection")
	command.Flags().StringVar(&out, "out", "", "`folder` of the snapshot, which must not be there yet")
	return command
}
