package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/documents"
	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/indexing"
	"example.org/conclave/internal/languages"
	"example.org/conclave/internal/originals"
	"example.org/conclave/internal/stores"
	"example.org/conclave/internal/wording"
	"example.org/conclave/shipped"
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
}

// newIndex returns the command `conclave index`, which builds a collection or adds passages to it.
func newIndex(term cli.Terminal) *cobra.Command {
	var x indexCommand
	command := &cobra.Command{
		Use:   "index",
		Short: "Build a collection, or add to it",
		Long: `Reads documents (` + documents.FormatNames() + `;
files, folders and archives) and cuts them into passages, or reads passages. Indexes their words, encodes them with every expert, and
publishes the result in one step. Until then, and after an interruption or a
failure, the collection is unchanged. With --store, passages are written to the store as
they are encoded, and the same command continues after an interruption.

Formats of passages are JSON Lines ({"id","title","text","tags","metadata"}), BEIR folders,
DPR's psgs_w100.tsv, MS MARCO's collection.tsv, and CSV and TSV with a header,
whose further columns become metadata. Files may be compressed with gzip.`,
		Example: `  conclave index --collection handbook --in handbook.pdf --in wiki/ --in faq.html
  conclave index --collection handbook --in wiki/ --sync            # what is new, changed and gone
  conclave index --url http://127.0.0.1:8080 --in wiki/ --sync      # of a collection that is served
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
	flags := command.Flags()
	configs.AddFlags(
		flags, "collection", "store", "cluster.shards", "cluster.replicas", "bundles", "encoder.provider",
		"documents.words", "documents.encoding", "documents.gitignore",
	)
	nameEncodingShort(flags)
	x.inputs.Bind(flags)
	x.inputs.BindColumns(flags)
	flags.StringVar(
		&x.format, "format", "auto",
		"format of the inputs: "+strings.Join(append(corpus.Formats(), documentsFormat), ", "),
	)
	flags.StringVar(
		&x.experts, "experts", "",
		"experts of a new collection: default (base and late, one pass), all (every shipped expert, one pass each), none (words only), or names separated by commas",
	)
	flags.StringVar(
		&x.index.Kind, "index", "",
		"kind of vector index of a new collection or expert: hnsw, flat or coder (default: index.kind of the configuration)",
	)
	flags.IntVar(&x.index.M, "m", 0, "neighbours of each node of the graph (0: the default of the kind)")
	flags.IntVar(
		&x.index.EfConstruction, "ef-construction", 0,
		"candidates compared for each node while the graph is built (0: the default of the kind)",
	)
	flags.Uint64Var(&x.index.Seed, "seed", 0, "seed of the graph and of the recall measurement")
	flags.StringVar(
		&x.addExpert,
		"add-expert",
		"",
		"encode the passages of the collection with another expert, by `name`",
	)
	flags.StringVar(&x.removeExpert, "remove-expert", "", "remove an expert's vectors, by `name`")
	flags.StringSliceVar(
		&x.granularity, "granularity", nil,
		"vectors of parts of passages beside those of whole ones, by the first expert: numbers of sentences such as 1,3; of tokens, such as 125t; passage, the expert's own; with -untitled behind, without the title before each part",
	)
	x.questions.BindOptional(flags)
	flags.BoolVar(
		&x.phrases, "phrases", true,
		"index pairs of adjacent words beside words; for a new collection and with --rebuild-words",
	)
	flags.StringVar(
		&x.analysis, "analysis", "",
		"how words are analysed: unicode (English; accents, ligatures, full width and compounds such as wi-fi meet in all their forms), unicode- and the code of another language, or lucene (as Lucene's EnglishAnalyzer does); for a new collection and with --rebuild-words (default: index.analysis of the configuration)",
	)
	flags.StringVar(&x.language, "language", indexing.LanguageAuto,
		"`language` of the passages of a new collection, which chooses its experts and how words are analysed: auto (by the first passages), multi (several), or a code such as en, de or fr")
	flags.BoolVar(
		&x.rebuildWords, "rebuild-words", false, "index the words of an existing collection anew, from its passages",
	)
	flags.IntVar(&x.threads, "threads", 0, "threads that build graphs (0: all processors)")
	flags.BoolVar(
		&x.replace, "replace", false,
		"replace passages whose ids are in the collection, instead of refusing the new ones",
	)
	flags.BoolVar(
		&x.skipBad, "skip-bad", false, "report and leave out passages that cannot be indexed, instead of stopping",
	)
	flags.BoolVar(
		&x.strict, "strict", false,
		"refuse passages with unknown fields, and fail where a document could not be read; without it, both are reported",
	)
	flags.BoolVar(
		&x.follow, "sync", false,
		"make the documents of the collection those of --in: take what is new or changed, and remove what is gone",
	)
	flags.BoolVar(
		&x.deleteAll, "delete-all", false,
		"with --sync, remove the documents of missing files even if a folder is empty, or if more than half of its documents are removed",
	)
	flags.StringVar(
		&x.movedFrom,
		"moved-from",
		"",
		"with --sync, the path that the folder of --in had before: documents read from this `folder` are taken as read from --in, and removed if they are not there",
	)
	flags.BoolVar(&x.settle, "settle", false, "purge the deleted passages of a store, so that they count in no score")
	flags.StringVar(
		&x.share,
		"share",
		"",
		"index one `share` of the inputs into a store, such as 2/4, while other processes index the others",
	)
	flags.StringToStringVar(
		&x.fields,
		"fields",
		nil,
		"`types` of fields of the metadata, such as price=number,published=date: keyword, number, date or bool; a passage with another value is refused",
	)
	x.server.bindFlags(flags)
	flags.BoolVar(&x.asJSON, "json", false, "print JSON")
	return command
}

// run does the one action that the flags ask for, and prints the result as text or JSON: it removes an expert
// (--remove-expert), purges the deleted passages of a store (--settle), makes an existing collection match files
// (--sync), or builds (buildCollection). After a build of a folder it also prints what would improve the answers
// (printNext). It fails with a usage error for flags that contradict the collection.
func (x *indexCommand) run(ctx context.Context, config configs.Config, term cli.Terminal) error {
	bar := cli.NewProgress(term.Err)
	defer bar.Finish()
	switch {
	case x.removeExpert != "":
		if err := removeExpert(ctx, config, x.removeExpert); err != nil {
			return err
		}
		return cli.Show(term.Out, x.asJSON, map[string]string{"removed": x.removeExpert}, func(w *cli.ErrWriter) {
			w.Printf("%s: expert %s removed\n", config.Passages(), x.removeExpert)
		})
	case x.settle:
		before, after, err := stores.Settle(ctx, config)
		if err != nil {
			return err
		}
		return cli.Show(
			term.Out,
			x.asJSON,
			map[string]any{"before": before, "after": after},
			func(w *cli.ErrWriter) {
				w.Printf(
					"%s: %s; %d deleted ones counted in scores before, and %d do now\n", config.Store,
					cli.Plural(after.Passages, "passage"), before.Deleted, after.Deleted,
				)
			},
		)
	}
	if x.follow {
		if err := x.checkSync(); err != nil {
			return err
		}
		if x.server.url != "" {
			return x.syncCollection(ctx, config, term, bar)
		}
		has, err := stores.Experts(ctx, config)
		if err != nil {
			return err
		}
		if has != nil && len(x.fields) > 0 {
			return cli.Usagef(
				"--fields cannot change the types of a collection that exists: declare them in its settings (PUT /v1/admin/settings, or collection.yaml)",
			)
		}
		if has != nil {
			return x.syncCollection(ctx, config, term, bar)
		}
	}
	report, err := x.buildCollection(ctx, config, term, bar)
	bar.Finish()
	if err != nil {
		return err
	}
	if err := cli.Show(term.Out, x.asJSON, report, func(w *cli.ErrWriter) {
		printIndexed(w, report,
			config.Passages())
	}); err != nil ||
		x.asJSON ||
		config.Store != "" {
		return err
	}
	return printNext(config, term.Out)
}

// wordConstants returns the constants of BM25 that the flags ask for. If the collection exists (there), a constant
// without a flag is taken from the collection, and with no flag at all the result is the zero value, which changes
// nothing. It fails if a flag is invalid or the collection's constants cannot be read.
func (x *indexCommand) wordConstants(
	ctx context.Context, config configs.Config, there bool,
) (store.WordConstants, error) {
	asked, err := store.NewWords(x.phrases, x.analysis)
	if err != nil || !there {
		return asked, err
	}
	if !x.phrasesAsked && !x.analysisAsked {
		return store.WordConstants{}, nil
	}
	at, err := stores.At(config)
	if err != nil {
		return asked, err
	}
	has, err := at.Words(ctx)
	if err != nil {
		return has, err
	}
	if !x.phrasesAsked {
		asked.Phrases = has.Phrases
	}
	if !x.analysisAsked {
		asked.Analysis = has.Analysis
	}
	return asked, nil
}

// settingsText returns the collection's settings as text, with the types of fields in --fields added. It returns nil,
// which changes no settings, without that flag. It fails if the collection's settings cannot be read or parsed. A
// collection that does not exist has empty settings.
func (x *indexCommand) settingsText(ctx context.Context, config configs.Config) ([]byte, error) {
	if len(x.fields) == 0 {
		return nil, nil
	}
	at, err := stores.At(config)
	if err != nil {
		return nil, err
	}
	text, err := at.Settings(ctx)
	if err != nil {
		return nil, err
	}
	s, created, err := collections.Parse(text)
	if err != nil {
		return nil, err
	}
	if s.Fields == nil {
		s.Fields = map[string]string{}
	}
	maps.Copy(s.Fields, x.fields)
	if created.IsZero() {
		created = time.Now()
	}
	return collections.Format(s, created)
}

// removeExpert removes an expert's vectors from the configured collection or store. It fails if the collection has no
// such expert or another process writes to it; nothing is changed then.
func removeExpert(ctx context.Context, config configs.Config, name string) error {
	at, err := stores.At(config)
	if err != nil {
		return err
	}
	return at.RemoveExpert(ctx, name)
}

// buildCollection reads the inputs, encodes the passages and publishes them as a new generation; with --rebuild-words
// it indexes the words of the passages that are there again. It returns what was written. With --strict it fails if a
// file could not be read, and what was read is indexed all the same. After another error, a collection in a folder is
// as it was, and a store keeps what was written, where the same command continues.
func (x *indexCommand) buildCollection(
	ctx context.Context,
	config configs.Config,
	term cli.Terminal,
	bar *cli.Progress,
) (report indexing.IndexReport, err error) {
	if x.rebuildWords {
		report.BuildReport, err = indexing.RebuildWords(
			ctx, config.Collection, x.phrases, x.analysis, buildOptions(config, bar),
		)
		return report, err
	}
	has, err := stores.Experts(ctx, config)
	if err != nil {
		return report, err
	}
	if err := x.checkFits(config.Passages(), has); err != nil {
		return report, err
	}
	unknown := corpus.EachUnknown(func(text string) { bar.Say("conclave: warning: %s", cli.Printable(text)) })
	if x.strict {
		unknown = func(corpus.Place, string) error {
			return errors.New(
				"is not known: a passage has " + corpus.KnownFields + ". Put it into metadata, or leave out --strict to index without it",
			)
		}
	}
	remarks := &remarks{}
	for i := range x.inputs.Files {
		in := &x.inputs.Files[i]
		in.Format = corpus.Format(x.format)
		in.Stdin = term.In
		in.Unknown = unknown
		in.Columns = x.inputs.Columns
		in.Remarked = remarks.addRemark
	}
	unread := &unreadFiles{}
	readers, err := openReaders(config, false)
	if err != nil {
		return report, err
	}
	defer func() { _ = readers.Close() }()
	inputs, err := x.openInputs(ctx, config, unread, readers)
	if err != nil {
		return report, err
	}
	o := indexing.Options{Config: config, Log: cli.NewPlainLogger(term.Err, config.Log), Inputs: inputs,
		Experts: x.experts, Language: x.language, Add: x.addExpert, Granularities: x.granularity,
		Build: buildOptions(config, bar)}
	o.Build.Threads, o.Build.Index, o.Build.Replace, o.Build.Share = x.threads, x.index, x.replace, x.part
	o.Build.Index.Kind = cmp.Or(x.index.Kind, config.Index.Kind)
	o.Build.Words, err = x.wordConstants(ctx, config, has != nil)
	if err != nil {
		return report, err
	}
	o.Build.Settings, err = x.settingsText(ctx, config)
	if err != nil {
		return report, err
	}
	o.Questions, err = x.questions.Read()
	if err != nil {
		return report, err
	}
	o.Tried = func(t indexing.TitleTrial) { bar.Say("%s", t) }
	if x.skipBad {
		o.Build.BadPassage = func(bad error) error {
			bar.Say("left out: %v", bad)
			return nil
		}
	}
	o.Estimated = func(passages int64, choices []indexing.Choice, err error) {
		bar.Finish() // of the reading
		x.printCosts(passages, choices, err, bar)
	}
	o.Chosen = func(choice indexing.LanguageChoice) { bar.Say("%s", chosenText(choice)) }
	o.Foreign = func(codes, experts []string) { bar.Say("%s", foreignText(codes, experts)) }
	o.Sent = func(expert string, to experts.RemoteInfo) {
		bar.Say("expert %s: the passages are sent to %s (model %s), and so are questions later", expert, to.Host, to.Model)
	}
	o.Crowded = func(c indexing.Crowding) { bar.Say("conclave: warning: %s", crowdedText(c)) }
	report, err = indexing.Index(ctx, o)
	if err == nil && config.Documents.Keep {
		err = x.recordRoots(config)
	}
	remarks.printRemarks(bar)
	report.Rows = remarks.countRemarks()
	unread.printAll(!x.asJSON, func(format string, args ...any) { bar.Say(format, args...) })
	if n := unread.countFailed(); n > 0 && x.strict && err == nil {
		err = fmt.Errorf("%s could not be read; what was read is indexed", cli.Plural(int64(n), "file"))
	}
	var refused *indexing.ExpertChoiceError
	if errors.As(err, &refused) {
		return report, cli.Usagef("--%s: %w", refused.Of, err)
	}
	return report, err
}

// chosenText returns which experts and which analysis of words the passages' languages chose, and how to choose
// others; if the expert that reads them is missing, the warning of foreignText, too.
func chosenText(choice indexing.LanguageChoice) string {
	of := "several languages"
	if len(choice.Languages) > 0 {
		names := make([]string, len(choice.Languages))
		for i, code := range choice.Languages {
			names[i] = languages.NameOf(code)
		}
		of = wording.List(names)
	}
	words := "words are analysed as English"
	if choice.Analysis != forms.Unicode {
		words = fmt.Sprintf("words are analysed by %s", choice.Analysis)
	}
	by := "no expert encodes them"
	if len(choice.Experts) > 0 {
		by = "they are encoded by " + wording.List(choice.Experts)
	}
	text := fmt.Sprintf("the passages are in %s: %s, and %s (--language en, another code or multi chooses otherwise)", of, by, words)
	if choice.Missing && len(choice.Experts) > 0 {
		text += "\n" + foreignText(choice.Languages, choice.Experts)
	}
	return text
}

// foreignText returns the warning that passages are in languages other than English, which these experts do not read,
// with the commands that add an expert for them. codes are language codes.
func foreignText(codes, experts []string) string {
	names := make([]string, len(codes))
	for i, code := range codes {
		names[i] = languages.NameOf(code)
	}
	who := wording.List(experts) + " read"
	if len(experts) == 1 {
		who += "s"
	}
	return fmt.Sprintf(
		"the passages are in %s; %s English alone, so that others are found by equal words: `conclave setup --languages` fetches an expert that reads them, and --experts %s takes it",
		wording.List(names),
		who,
		shipped.Multilingual,
	)
}

// recordRoots stores in a collection's folder the paths of --in that hold documents, so that a server can show the
// files. It does nothing for a store. It fails if the file in the collection's folder cannot be written; the collection
// itself is published by then.
func (x *indexCommand) recordRoots(config configs.Config) error {
	if config.Store != "" {
		return nil
	}
	return originals.RecordRoots(disk.OS{}, config.Collection, x.roots)
}

// printIndexed writes what a build did: a line with the generation (0: a store has none) and how many passages were
// written, replaced, already there or left out, then lines on copies, fields, recall, and passages that experts could
// not read to their end. where is the collection's path or address. Errors of writing are in w.Err.
func printIndexed(w *cli.ErrWriter, r indexing.IndexReport, where string) {
	passages := cli.Plural(int64(r.Passages), "passage")
	switch {
	case r.Generation == 0:
		w.Printf("%s: %s written", where, passages)
	case r.Passages == 0:
		w.Printf("%s: generation %d", where, r.Generation)
	default:
		w.Printf("%s: generation %d, %s", where, r.Generation, passages)
	}
	if r.Replaced > 0 {
		w.Printf(", of which %d replaced others", r.Replaced)
	}
	if r.There > 0 {
		w.Printf(", %d were indexed already", r.There)
	}
	if r.Skipped > 0 {
		w.Printf(", %d left out", r.Skipped)
	}
	if r.Bytes > 0 {
		w.Printf(", %s", cli.Count(r.Bytes, "bytes"))
	}
	w.Printf("\n")
	if r.Copies > 0 {
		w.Printf(
			"passages with the title and text of another one, which count once in answers: %s\n",
			cli.Count(int64(r.Copies), ""),
		)
	}
	if r.Untexted > 0 {
		w.Printf("passages with a title and no text, which are found by their titles: %s\n", cli.Count(r.Untexted, ""))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Fields)) {
		if f := r.Fields[name]; f.Others > 0 {
			w.Printf("field %s: %s in most passages that have it, and no %[2]s in %s, such as %q of passage %s\n",
				cli.Printable(name), f.Type, cli.Count(f.Others, ""), f.Example, cli.Printable(f.Passage))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Recall)) {
		recall := r.Recall[name]
		w.Printf("%s: recall against exact search %.4f@10, %.4f@100\n", name, recall.Stored.At10, recall.Stored.At100)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Truncated)) {
		w.Printf(
			"%s: passages longer than it reads, %d tokens at a time, of which the end is not encoded: %s\n", name,
			r.Reads[name], cli.Count(r.Truncated[name], ""),
		)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Unread)) {
		w.Printf(
			"%s: passages that it can hardly read, since they are in a script or of characters that it was not trained on, and that are found by equal words: %s\n",
			name, cli.Count(r.Unread[name], ""),
		)
	}
}

// buildOptions returns the options of a build with the configured kind of index, whose progress bar shows.
func buildOptions(config configs.Config, bar *cli.Progress) store.BuildOptions {
	return store.BuildOptions{
		Index: store.Index{Kind: config.Index.Kind},
		Progress: func(p store.Progress) {
			stage := string(p.Stage)
			if p.Expert != "" {
				stage += " " + p.Expert
			}
			bar.Report(stage, p.Done, p.Total, p.Unit)
		},
	}
}
