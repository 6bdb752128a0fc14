package main

import (
	"context"
	"errors"
	"io"
	"os"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/internal/indexing"
	"example.org/conclave/internal/stores"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"

	"github.com/spf13/cobra"
)

func newExport(term cli.Terminal) *cobra.Command {
	var out, vectors, to string
	command := &cobra.Command{
		Use:   "export",
		Short: "Write all passages as JSON Lines, and their vectors",
		Long: `Writes the passages that searches see as JSON Lines, which 'conclave index' reads,
in the byte order of their ids. --vectors also writes the vectors of each expert to
EXPERT.npy: float32, one row for each line. Late interaction, which has a list of
vectors for each passage, is left out.

With --store the passages are those of an index of OpenSearch; its vectors are had by
'conclave import'.

--to writes them into a new index of OpenSearch instead, with the vectors of all
experts and those of late interaction; nothing is encoded. After an interruption the
same command continues. 'conclave import' does the reverse.`,
		Example: `  conclave export --collection my-index > passages.jsonl
  conclave export --collection my-index --out passages.jsonl --vectors vectors
  conclave export --store opensearch+https://node1:9200/my-index > passages.jsonl
  conclave export --collection my-index --to opensearch+https://node1:9200,node2:9200/my-index`,
		Args: cobra.NoArgs,
		RunE: cli.WithSettings(term, func(cmd *cobra.Command, config configs.Config) (err error) {
			flags := cmd.Flags()
			if flags.Changed("store") && (flags.Changed("collection") || to != "") {
				return cli.Usagef("--store excludes --collection and --to")
			}
			if to != "" {
				if out != "" || vectors != "" {
					return cli.Usagef("--to excludes --out and --vectors")
				}
				from := config
				from.Store = ""
				config.Store = to
				bar := cli.NewProgress(term.Err)
				report, err := copied(cmd.Context(), from, config, buildOptions(config, bar))
				bar.Finish()
				if err != nil {
					return err
				}
				return cli.Show(term.Out, false, nil, func(w *cli.ErrWriter) {
					printIndexed(w, indexing.Indexed{BuildReport: report}, config.Store)
				})
			}
			stored := config.Store != "" && !flags.Changed("collection")
			if stored && vectors != "" {
				return cli.Usagef(
					"--vectors writes those of a collection in a folder: conclave import --from %s makes one with the vectors of the store",
					config.Store,
				)
			}
			file := term.Out
			if out != "" {
				made, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, made.Close()) }()
				file = made
			}
			if stored {
				return exportPassages(cmd.Context(), config, file)
			}
			c, err := folder.Open(config.Collection)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, c.Close()) }()
			g := c.Acquire()
			defer g.Release()
			if err := g.ExportPassages(cmd.Context(), file); err != nil || vectors == "" {
				return err
			}
			return g.ExportVectors(cmd.Context(), vectors)
		}),
	}
	configs.AddFlags(command.Flags(), "collection", "store", "cluster.shards", "cluster.replicas")
	command.Flags().
		StringVar(&to, "to", "", "`address` of a new index of OpenSearch to write, such as opensearch+https://HOST:9200/INDEX")
	command.Flags().StringVar(&out, "out", "", "`file` to write, which must not exist yet (default: standard output)")
	command.Flags().StringVar(&vectors, "vectors", "", "`folder` for the experts' vectors")
	return command
}

// exportPassages writes the passages of the configured store as JSON Lines.
func exportPassages(ctx context.Context, config configs.Config, to io.Writer) (err error) {
	at, err := stores.At(config)
	if err != nil {
		return err
	}
	opened, err := at.Open(ctx, store.OpenOptions{Unprepared: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	return opened.ExportPassages(ctx, to)
}
