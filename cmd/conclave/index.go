package main

import (
	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/documents"
	"example.org/conclave/internal/server"
	"example.org/conclave/store"

	"github.com/spf13/cobra"
)

// indexCommand holds what `conclave index` was asked to do.
type indexCommand struct {
	inputs                   cli.Inputs
	format                   string
	experts                  string
	addExpert, removeExpert  string
	granularity              []string
	questions                cli.QuestionFiles
	rebuildWords             bool
	phrases                  bool
	phrasesAsked             bool // by --phrases, not by its default
	analysis                 string
	analysisAsked            bool // by --analysis
	language                 string
	threads                  int
	index                    store.Index
	replace, skipBad, asJSON bool
	strict                   bool
	settle                   bool
	follow                   bool // --sync
	deleteAll                bool
	movedFrom                string
	share                    string
	server                   serverFlags
	fields                   map[string]string // their types, by name
	part                     store.Share
	roots                    []string // files and folders of documents among the inputs
	site                     siteFlags
	siteReports              []siteReport
	sites                    map[string]*server.SiteFiles // that were read, by their start addresses
}

// newIndex returns the command `conclave index`, which builds a collection or adds passages to it.
func newIndex(term cli.Terminal) *cobra.Command {
	var x indexCommand
	command := &cobra.Command{
		Use:   "index",
		Short: "Build a collection, or add to it",
		Long: `Reads documents (` + documents.FormatNames() + `;
files, folders, archives and websites) and cuts them into passages, or reads passages. Indexes their words, encodes them with every expert, and
publishes the result in one step. Until then, and after an interruption or a
failure, the collection is unchanged. With --store, passages are written to the store as
they are encoded, and the same command continues after an interruption.

Formats of passages are JSON Lines ({"id","title","text","tags","metadata"}), BEIR folders,
DPR's psgs_w100.tsv, MS MARCO's collection.tsv, and CSV and TSV with a header,
whose further columns become metadata. Files may be compressed with gzip.`,
		Example: `  conclave index --collection handbook --in handbook.pdf --in wiki/ --in faq.html
  conclave index --collection handbook --in wiki/ --sync            # what is new, changed and gone
  conclave index --url http://127.0.0.1:8080 --in wiki/ --sync      # of a collection that is served
  conclave index --collection docs --in https://docs.example.org/guide/ --exclude /guide/old/   # the pages of a site
  conclave index --collection my-index --in passages.jsonl
  conclave index --collection my-index --in more.jsonl.gz          # adds a segment
  conclave index --collection both --id-prefix a/ --in a.jsonl --id-prefix b/ --in b.jsonl
  zcat psgs_w100.tsv.gz | conclave index --collection wiki --in - --experts none
  conclave index --collection shop --in products.csv --id-column sku --text-column description
  conclave index --collection shop --in products.csv --fields price=number,published=date
  conclave index --collection my-index --add-expert health
  conclave index --collection my-index --granularity 1,3 --questions dev.jsonl   # a vector for every sentence, and for every three
  conclave index --collection my-index --rebuild-words             # from its texts
  conclave index --store opensearch+https://node1:9200,node2:9200/my-index --in passages.jsonl
  conclave index --store opensearch+https://node1:9200/my-index --in passages.jsonl --share 2/4
  conclave index --store opensearch+https://node1:9200/my-index --settle`,
		Args: cobra.NoArgs,
		RunE: cli.WithSettings(term, func(cmd *cobra.Command, config configs.Config) error {
			if err := x.checkFlags(cmd.Flags(), config.Index); err != nil {
				return err
			}
			if err := x.checkServed(cmd.Flags()); err != nil {
				return err
			}
			if err := checkStore(cmd.Flags(), config.Store); err != nil {
				return err
			}
			return x.run(cmd.Context(), config, term)
		}),
	}
	x.bindFlags(command.Flags())
	return command
}
