package main

import (
	"context"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/internal/indexing"
	"example.org/conclave/internal/stores"
	"example.org/conclave/store"

	"github.com/spf13/cobra"
)

// newImport returns the command `conclave import`, which makes a new collection in a folder from an index of
// OpenSearch, with its vectors.
func newImport(term cli.Terminal) *cobra.Command {
	var from string
	command := &cobra.Command{
		Use:   "import",
		Short: "Make a collection of a store, with the vectors that it has",
		Long: `Reads all passages of an index of OpenSearch with their vectors, and makes a new
collection of them. Nothing is encoded. 'conclave export --to' does the reverse.
Nobody may write to the index meanwhile.

Checkpoints become bundles with 'conclave models import'.`,
		Example: `  conclave import --from opensearch+https://node1:9200,node2:9200/my-index --collection my-index`,
		Args:    cobra.NoArgs,
		RunE: cli.WithSettings(term, func(cmd *cobra.Command, config configs.Config) error {
			if from != "" {
				config.Store = from
			}
			if config.Store == "" {
				return cli.Usagef("no index of OpenSearch is named: name one with --from, such as opensearch+https://HOST:9200/INDEX")
			}
			bar := cli.NewProgress(term.Err)
			to := config
			to.Store = ""
			report, err := copyCollection(cmd.Context(), config, to, buildOptions(config, bar))
			bar.Finish()
			if err != nil {
				return err
			}
			return cli.Show(
				term.Out, false, nil,
				func(w *cli.ErrWriter) { printIndexed(w, indexing.IndexReport{BuildReport: report}, config.Collection) },
			)
		}),
	}
	configs.AddFlags(command.Flags(), "collection", "index.kind")
	command.Flags().StringVar(&from, "from", "", "`address` of the index (default: store of the configuration)")
	return command
}

// copyCollection copies the collection that the configuration from names to the place that the configuration to names,
// with its vectors. It fails if the target has a collection already. After another error, nothing is in a folder, and
// what was written stays in a store, where the same call continues.
func copyCollection(
	ctx context.Context, from, to configs.Config, o store.BuildOptions,
) (report store.BuildReport, err error) {
	source, err := stores.At(from)
	if err != nil {
		return report, err
	}
	target, err := stores.At(to)
	if err != nil {
		return report, err
	}
	return stores.Copy(ctx, source, target, o)
}
