package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/indexing"
	"example.org/conclave/internal/originals"
	"example.org/conclave/internal/stores"
	"example.org/conclave/store"
)

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
	defer x.closeSites()
	inputs, err := x.openInputs(ctx, config, unread, readers, bar)
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
	o.Resumed = func(expert string, vectors int) {
		bar.Say("expert %s: %s of a run that was interrupted are taken", expert, cli.Plural(int64(vectors), "vector"))
	}
	o.Crowded = func(c indexing.Crowding) { bar.Say("conclave: warning: %s", crowdedText(c)) }
	report, err = indexing.Index(ctx, o)
	if err == nil && config.Documents.Keep {
		err = x.recordRoots(config)
	}
	if err == nil {
		err = x.keepMemories(config, unread)
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

// recordRoots stores in a collection's folder the paths of --in that hold documents, so that a server can show the
// files. It does nothing for a store. It fails if the file in the collection's folder cannot be written; the collection
// itself is published by then.
func (x *indexCommand) recordRoots(config configs.Config) error {
	if config.Store != "" {
		return nil
	}
	return originals.RecordRoots(disk.OS{}, config.Collection, x.roots)
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
