package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"conclave/collection"
	"conclave/configs"
	"conclave/corpus"
	"conclave/serving"

	"github.com/spf13/cobra"
)

// indexing is what `conclave index` was asked to do.
type indexing struct {
	inputs                   inputs
	format                   string
	experts                  string
	addExpert, removeExpert  string
	rebuildWords             bool
	phrases                  bool
	phrasesAsked             bool // by --phrases, not by its default
	threads                  int
	index                    collection.Index
	kindAsked                bool // by --index, not by the configuration
	replace, skipBad, asJSON bool
	strict                   bool
}

func newIndex(term terminal) *cobra.Command {
	var x indexing
	command := &cobra.Command{
		Use:   "index",
		Short: "Build a collection, or add to it",
		Long: `Reads passages, indexes their words and, with every expert, their meaning, and
publishes the result at once: until then, and after an interruption or a
failure, the collection is as it was before.

Formats are JSON Lines ({"id","title","text","tags","metadata"}), BEIR folders
and DPR's psgs_w100.tsv, plain or gzip-compressed.`,
		Example: `  conclave index --collection my-index --in passages.jsonl
  conclave index --collection my-index --in more.jsonl.gz          # adds a segment
  conclave index --collection both --id-prefix a/ --in a.jsonl --id-prefix b/ --in b.jsonl
  zcat psgs_w100.tsv.gz | conclave index --collection wiki --in - --experts none
  conclave index --collection my-index --add-expert health
  conclave index --collection my-index --rebuild-words             # from the texts that it holds`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := settings(cmd, term)
			if err != nil {
				return err
			}
			if err := x.check(cmd.Flags(), config.Index.Kind); err != nil {
				return err
			}
			return x.run(cmd.Context(), config, term)
		},
	}
	flags := command.Flags()
	addConfigFlags(flags, "collection", "bundles", "encoder.provider")
	x.inputs.bind(flags)
	flags.StringVar(&x.format, "format", "auto", "format of the inputs: "+strings.Join(corpus.Formats(), ", "))
	flags.StringVar(&x.experts, "experts", "", "experts of a new collection: default (base and late, one pass), all (those that are shipped, a pass each), none (words alone), or names with commas")
	flags.StringVar(&x.index.Kind, "index", "", "kind of vector index of a new collection or expert: hnsw, flat or coder (default: index.kind of the configuration)")
	flags.IntVar(&x.index.M, "m", 0, "neighbours of a node of the graph (default: of the kind)")
	flags.IntVar(&x.index.EfConstruction, "ef-construction", 0, "candidates looked at while building the graph (default: of the kind)")
	flags.Uint64Var(&x.index.Seed, "seed", 0, "seed of the graph and of the measured recall")
	flags.StringVar(&x.addExpert, "add-expert", "", "encode what is indexed with another expert, by `name`")
	flags.StringVar(&x.removeExpert, "remove-expert", "", "drop an expert's vectors, by `name`")
	flags.BoolVar(&x.phrases, "phrases", true, "index pairs of adjacent words beside words; for a new collection and with --rebuild-words")
	flags.BoolVar(&x.rebuildWords, "rebuild-words", false, "index the words of an existing collection anew, from the passages that it holds")
	flags.IntVar(&x.threads, "threads", 0, "threads that build graphs (default: all processors)")
	flags.BoolVar(&x.replace, "replace", false, "a passage whose id is in the collection replaces the one there, instead of being an error")
	flags.BoolVar(&x.skipBad, "skip-bad", false, "leave out passages that cannot be indexed, and say which, instead of stopping")
	flags.BoolVar(&x.strict, "strict", false, "passages with fields that are not known are errors; else the first of each name is reported, and all are left out")
	flags.BoolVar(&x.asJSON, "json", false, "report for programs")
	return command
}

func (x *indexing) run(ctx context.Context, config configs.Config, term terminal) error {
	bar := newProgress(term.Err)
	defer bar.Finish()
	if x.removeExpert != "" {
		if err := collection.RemoveExpert(ctx, config.Collection, x.removeExpert); err != nil {
			return err
		}
		if x.asJSON {
			return json.NewEncoder(term.Out).Encode(map[string]string{"removed": x.removeExpert})
		}
		_, err := fmt.Fprintf(term.Out, "%s: expert %s removed\n", config.Collection, x.removeExpert)
		return err
	}
	report, err := x.build(ctx, config, term, bar)
	bar.Finish()
	if err != nil {
		return err
	}
	if err := x.print(term, config.Collection, report); err != nil || x.asJSON {
		return err
	}
	return next(config, term.Out)
}

// indexed is what a build made, and of how many passages each expert read
// only the beginning.
type indexed struct {
	collection.Report
	Truncated map[string]int64 `json:"truncated,omitempty"`
	reads     map[string]int   // tokens of a passage, by expert
}

// take takes over what the encoders counted since the costs were told.
func (r *indexed) take(told *costs) {
	r.Truncated, r.reads = map[string]int64{}, map[string]int{}
	for _, e := range told.experts {
		if n := e.Encoder.CutPassages() - told.cut[e]; n > 0 {
			r.Truncated[e.Name()], r.reads[e.Name()] = n, e.Bundle.Manifest.MaxTokens.Passage
		}
	}
}

// rebuild indexes the words of a collection anew, with the constants that it
// has. It opens nothing but the manifest: what another version analysed cannot
// be opened, and this is how to mend it.
func (x *indexing) rebuild(ctx context.Context, config configs.Config, bar *progress) (report indexed, err error) {
	params, err := collection.WordParams(config.Collection)
	if err != nil {
		return report, err
	}
	params.Phrases = x.phrases
	report.Report, err = collection.RebuildWords(ctx, config.Collection, params, buildOptions(config, &serving.Experts{}, bar))
	return report, err
}

// build reads, encodes and publishes.
func (x *indexing) build(ctx context.Context, config configs.Config, term terminal, bar *progress) (report indexed, err error) {
	if x.rebuildWords {
		return x.rebuild(ctx, config, bar)
	}
	has, err := collectionExperts(config.Collection)
	if err != nil {
		return report, err
	}
	if err := x.fits(config.Collection, has); err != nil {
		return report, err
	}
	if err := x.fitsWords(config.Collection, has != nil); err != nil {
		return report, err
	}
	names, err := x.expertNames(has)
	if err != nil {
		return report, err
	}
	config.Encoder.Threads = serving.ThreadsOfOne(config, runtime.GOMAXPROCS(0)) // nobody waits for a single vector
	loaded, err := serving.OpenExperts(config, newSaying(term.Err, config.Log), names)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, loaded.Close()) }()
	options := buildOptions(config, loaded, bar)
	options.Threads, options.Index = x.threads, x.index
	options.Replace = x.replace
	if has == nil {
		options.Words = collection.NewWords(x.phrases)
	}
	if x.skipBad {
		options.BadPassage = func(bad error) error {
			bar.Say("left out: %v", bad)
			return nil
		}
	}
	told := &costs{experts: loaded.All()}
	defer func() { report.take(told) }()
	if x.addExpert != "" {
		if told.sampled, err = sampleOf(config.Collection); err != nil {
			return report, err
		}
		told.what = "--add-expert " + x.addExpert
		told.say(ctx, bar)
		report.Report, err = collection.AddExpert(ctx, config.Collection, options.Experts[0], options)
		return report, err
	}
	unknown := unknownFields{strict: x.strict, say: bar.Say}
	var in []corpus.Input
	for _, file := range x.inputs.files {
		in = append(in, corpus.Input{Path: file.Path, Format: corpus.Format(x.format), IDPrefix: file.Prefix, Stdin: term.In, Unknown: unknown.found})
	}
	source, err := corpus.OpenSeries(in)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	told.sampled = &sampled{Source: source}
	if has != nil {
		told.what = "these experts"
	}
	told.before(ctx, &options, bar)
	if has == nil {
		report.Report, err = collection.Build(ctx, config.Collection, told, options)
	} else {
		report.Report, err = collection.Add(ctx, config.Collection, told, options)
	}
	return report, err
}

func (x *indexing) print(term terminal, folder string, r indexed) error {
	if x.asJSON {
		return json.NewEncoder(term.Out).Encode(r)
	}
	w := &errWriter{out: term.Out}
	w.printf("%s: generation %d", folder, r.Generation)
	if r.Passages > 0 {
		w.printf(", %s", plural(int64(r.Passages), "passage"))
	}
	if r.Skipped > 0 {
		w.printf(", %d left out", r.Skipped)
	}
	if r.Bytes > 0 {
		w.printf(", %s", count(r.Bytes, "bytes"))
	}
	w.printf("\n")
	for _, name := range slices.Sorted(maps.Keys(r.Recall)) {
		recall := r.Recall[name]
		w.printf("%s: recall against exact search %.4f@10, %.4f@100\n", name, recall.Stored.At10, recall.Stored.At100)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Truncated)) {
		w.printf("%s: longer than the %d tokens that it reads: %s, whose vectors are of their beginnings\n", name, r.reads[name], plural(r.Truncated[name], "passage"))
	}
	return w.err
}

// buildOptions connects loaded experts and the progress bar to a build.
func buildOptions(config configs.Config, loaded *serving.Experts, bar *progress) collection.BuildOptions {
	options := collection.BuildOptions{
		Shared: serving.SharedPasses(loaded.All()),
		Index:  collection.Index{Kind: config.Index.Kind},
		Progress: func(p collection.Progress) {
			stage := string(p.Stage)
			if p.Expert != "" {
				stage += " " + p.Expert
			}
			bar.Report(stage, p.Done, p.Total, p.Unit)
		},
	}
	for _, e := range loaded.All() {
		options.Experts = append(options.Experts, e)
	}
	return options
}
