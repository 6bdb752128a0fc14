package main

import (
	"strings"

	"example.org/conclave/configs"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/indexing"
	"github.com/spf13/pflag"
)

// bindFlags adds the flags of `conclave index` to a command.
func (x *indexCommand) bindFlags(flags *pflag.FlagSet) {
	configs.AddFlags(
		flags, "collection", "store", "cluster.shards", "cluster.replicas", "bundles", "encoder.provider",
		"documents.words", "documents.encoding", "documents.gitignore", "documents.networks", "documents.site.rate",
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
		"how words are analysed: unicode (English; accents, ligatures, full width and compounds such as wi-fi meet in all their forms), unicode- and the code of another language, or of several with + between them, or lucene (as Lucene's EnglishAnalyzer does); for a new collection and with --rebuild-words (default: index.analysis of the configuration)",
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
	x.site.bindFlags(flags)
	x.server.bindFlags(flags)
	flags.BoolVar(&x.asJSON, "json", false, "print JSON")
}
