package main

import (
	"fmt"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/store/folder"

	"github.com/spf13/cobra"
)

// newSnapshot returns the command `conclave snapshot`, which copies a collection by hard links.
func newSnapshot(term cli.Terminal) *cobra.Command {
	var out string
	var from serverFlags
	command := &cobra.Command{
		Use:   "snapshot",
		Short: "Copy a collection by hard links, also while it is served",
		Long: `Makes a folder that is a collection of its own. It shares its files with the
original by hard links, so it takes no space until the original removes them. Both
have to be on one file system. To restore a snapshot, serve it.

With --collection it copies the newest generation. With --url it asks the server
of the collection, whose snapshot also contains changes that are written and not
yet indexed; --out is then a name in the server's folder of snapshots.`,
		Example: `  conclave snapshot --collection my-index --out my-index-monday
  conclave snapshot --url http://127.0.0.1:8080 --out monday`,
		Args: cobra.NoArgs,
		RunE: cli.WithSettings(term, func(cmd *cobra.Command, config configs.Config) error {
			if err := from.checkFlags(cmd.Flags()); err != nil {
				return err
			}
			switch {
			case from.url != "":
				server, err := from.newClient(term.Environ)
				if err != nil {
					return err
				}
				job, err := server.Snapshot(cmd.Context(), out)
				if err == nil {
					job, err = server.Wait(cmd.Context(), job.ID)
				}
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(
					term.Out, "%s: generation %d, %s, %s shared\n", job.Result.Folder, job.Result.Generation,
					cli.Plural(int64(job.Result.Passages), "passage"), cli.Count(job.Result.Bytes, "bytes"),
				)
				return err
			case out == "":
				return cli.Usagef("--out is needed: the folder to make")
			}
			r, err := folder.Snapshot(cmd.Context(), config.Collection, out)
			if err != nil {
				return err
			}
			if r.Pending > 0 {
				_, _ = fmt.Fprintf(
					term.Err,
					"%d acknowledged changes wait in the log and are not in the snapshot: ask the server for one, with --url\n",
					r.Pending,
				)
			}
			_, err = fmt.Fprintf(
				term.Out, "%s: generation %d, %s, %s, %s shared\n", out, r.Generation,
				cli.Plural(int64(r.Passages), "passage"), cli.Plural(int64(r.Files), "file"),
				cli.Count(r.Bytes, "bytes"),
			)
			return err
		}),
	}
	configs.AddFlags(command.Flags(), "collection")
	command.Flags().StringVar(&out, "out", "", "`folder` of the snapshot, which must not exist yet; with --url, its name")
	from.bindFlags(command.Flags())
	return command
}
