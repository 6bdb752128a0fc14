package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/indexing"
	"example.org/conclave/internal/stores"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"

	"github.com/spf13/cobra"
)

// newExport returns the command `conclave export`, which writes all passages as JSON Lines, and their vectors.
func newExport(term cli.Terminal) *cobra.Command {
	var out, vectors, to, filter string
	var server serverFlags
	command := &cobra.Command{
		Use:   "export",
		Short: "Write all passages as JSON Lines, and their vectors",
		Long: `Writes the passages that searches see as JSON Lines, which 'conclave index' reads,
in the byte order of their ids. --vectors also writes the vectors of each expert to
EXPERT.npy: float32, one row for each line. Late interaction, which has a list of
vectors for each passage, is left out.

--filter writes only the passages that meet a condition, which is written as the filter
of a search. If the condition does not fit the declared type of its field, nothing is
written, and the error says how to write it.

With --url the passages are those that a server shows: where its key has a filter, only
these.

With --store the passages are those of an index of OpenSearch; 'conclave import'
reads its vectors.

--to writes them into a new index of OpenSearch instead, with the vectors of all
experts and those of late interaction; nothing is encoded. After an interruption the
same command continues. 'conclave import' does the reverse.`,
		Example: `  conclave export --collection my-index > passages.jsonl
  conclave export --collection my-index --out passages.jsonl --vectors vectors
  conclave export --store opensearch+https://node1:9200/my-index > passages.jsonl
  conclave export --store 'opensearch+https://node1:9200/tenants-*' --collection handbook > handbook.jsonl
  conclave export --collection my-index --filter '{"field": "year", "gte": 2023}' > recent.jsonl
  CONCLAVE_KEY=… conclave export --url https://search.example.org > passages.jsonl
  conclave export --collection my-index --to opensearch+https://node1:9200,node2:9200/my-index`,
		Args: cobra.NoArgs,
		RunE: cli.WithSettings(term, func(cmd *cobra.Command, config configs.Config) (err error) {
			flags := cmd.Flags()
			several := strings.HasSuffix(config.Store, configs.AnyIndex)
			switch {
			case several && to == "" && server.url == "":
				if err := checkStore(flags, config.Store); err != nil {
					return err
				}
			case flags.Changed("store") && (flags.Changed("collection") || to != ""):
				return cli.Usagef("--store excludes --collection and --to")
			}
			if to != "" {
				if out != "" || vectors != "" || filter != "" || server.url != "" {
					return cli.Usagef("--to excludes --out, --vectors, --filter and --url")
				}
				from := config
				from.Store = ""
				config.Store = to
				bar := cli.NewProgress(term.Err)
				report, err := copyCollection(cmd.Context(), from, config, buildOptions(config, bar))
				bar.Finish()
				if err != nil {
					return err
				}
				return cli.Show(term.Out, false, nil, func(w *cli.ErrWriter) {
					printIndexed(w, indexing.IndexReport{BuildReport: report}, config.Store)
				})
			}
			if err := server.checkFlags(flags); err != nil {
				return err
			}
			stored := config.Store != "" && (several || !flags.Changed("collection"))
			if (stored || server.url != "") && vectors != "" {
				return cli.Usagef(
					"--vectors is for a collection in a folder; to get the vectors of this one, make a folder of it first: conclave import --from %s",
					cmp.Or(server.url, config.Store),
				)
			}
			var only storage.Filter
			if err := parseFilter(filter, &only); err != nil {
				return err
			}
			if server.url != "" && len(only.Documents) > 0 {
				return cli.Usagef(`with --url, a --filter cannot have documents: write {"field": "document", "in": […]} instead`)
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
			if server.url != "" {
				return server.export(cmd.Context(), term.Environ, filter, file)
			}
			if !stored {
				config.Store = ""
			}
			return exportPassages(cmd.Context(), config, only, file, vectors)
		}),
	}
	configs.AddFlags(command.Flags(), "collection", "store", "cluster.shards", "cluster.replicas")
	command.Flags().
		StringVar(&to, "to", "", "`address` of a new index of OpenSearch to write, such as opensearch+https://HOST:9200/INDEX")
	command.Flags().StringVar(&out, "out", "", "`file` to write, which must not exist yet (default: standard output)")
	command.Flags().StringVar(&filter, "filter", "",
		`only passages that meet a `+"`condition`"+` in JSON, such as {"field": "price", "gte": 10, "lt": 20}`)
	server.bindFlags(command.Flags())
	command.Flags().StringVar(&vectors, "vectors", "", "`folder` for the experts' vectors")
	return command
}

// exportPassages writes the passages of the configured collection that the filter lets through as JSON Lines, and their
// vectors into the folder vectors, unless that is "". It returns a usage error if the filter does not fit the declared
// types of fields. Vectors need a collection in a folder. After an error, the passages before it were written.
func exportPassages(
	ctx context.Context, config configs.Config, only storage.Filter, to io.Writer, vectors string,
) (err error) {
	at, err := stores.At(config)
	if err != nil {
		return err
	}
	text, err := at.Settings(ctx)
	if err != nil {
		return err
	}
	settings, err := assembly.ParseSettings(text)
	if err != nil {
		return err
	}
	types, err := conditions.ParseTypes(settings.Fields)
	if err != nil {
		return err
	}
	var wrong []conditions.Problem
	only.Where, wrong = only.Condition.Compile(types)
	if wrong != nil {
		return filterError(&conditions.MisfitError{Problems: wrong})
	}
	opened, err := at.Open(ctx, store.OpenOptions{Unprepared: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	if err := opened.ExportPassages(ctx, to, only); err != nil || vectors == "" {
		return filterError(err)
	}
	return opened.(vectorExporter).ExportVectors(ctx, vectors, only)
}

// vectorExporter is a collection whose vectors can be exported: one in a folder.
type vectorExporter interface {
	ExportVectors(ctx context.Context, folder string, f storage.Filter) error
}

// filterError returns a usage error for a filter that does not fit the types of the fields, with the first problem. It
// returns other errors, and nil, as they are.
func filterError(err error) error {
	var wrong *conditions.MisfitError
	if !errors.As(err, &wrong) {
		return err
	}
	return cli.Usagef("--filter: %s", wrong.Problems[0].Detail)
}
