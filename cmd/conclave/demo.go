package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/indexing"
	"example.org/conclave/internal/provision"
	"example.org/conclave/shipped"
	"example.org/conclave/shipped/demo"
	"example.org/conclave/store"

	"github.com/spf13/cobra"
)

// newDemo returns the command `conclave demo`, which fetches what is missing, indexes the demo corpus and serves it.
func newDemo(term cli.Terminal) *cobra.Command {
	var o shipped.Setup
	command := &cobra.Command{
		Use:   "demo",
		Short: "Fetch what is missing, index the demo corpus and serve it",
		Long: `Runs setup, indexes the demo corpus as 'conclave index' does by default, and
serves it. The demo corpus is documents of five domains in Markdown, HTML, PDF and
DOCX, written for this project. Files that exist are verified and used again, so the
second start takes a moment only.`,
		Example: "  conclave demo\n  conclave demo --listen 127.0.0.1:9000",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, cache, err := cli.ReadSettingsAndCache(cmd, term)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("log-level") {
				config.Log.Level = "warn" // only the answers are to be seen
			}
			o.Provider, o.Usual = "cpu", true
			if config.Encoder.Provider == "cuda" {
				o.Provider = "cuda"
			}
			names, err := setup(cmd.Context(), o, cache, term)
			if err != nil {
				return err
			}
			config.Experts = demo.Experts(cache, names)
			name := ""
			if !cmd.Flags().Changed("collection") {
				name = "demo"
				config.Collection, err = demo.Folder(cache, config.Experts)
				if err != nil {
					return err
				}
				if err := demo.MakeRoom(cache, config.Collection); err != nil {
					return err
				}
			}
			if err := buildDemo(cmd.Context(), config, term); err != nil {
				return provision.ExplainFull(err, config.Collection)
			}
			return serve(
				cmd.Context(), config, serving{name: name}, term, func(at net.Addr) { printWelcome(term.Out, at) },
			)
		},
	}
	configs.AddFlags(command.Flags(), "listen", "collection", "encoder.provider", "encoder.threads")
	bindSetup(command.Flags(), &o)
	return command
}

// buildDemo indexes the demo corpus with the configured experts into the configured collection, unless that has it
// already. It fails if a file of the corpus cannot be read; what was read is indexed then.
func buildDemo(ctx context.Context, config configs.Config, term cli.Terminal) error {
	var names []string
	for _, x := range config.Experts {
		names = append(names, x.Name)
	}
	cache, err := provision.CacheAt(config.Cache)
	if err != nil {
		return err
	}
	at, err := demo.Documents(cache)
	if err != nil {
		return err
	}
	readers, err := openReaders(config, false)
	if err != nil {
		return err
	}
	defer func() { _ = readers.Close() }()
	var unread unreadFiles
	source, err := openDocuments(ctx, config, []string{at}, nil, &unread, readers)
	if err != nil {
		return err
	}
	bar := cli.NewProgress(term.Err)
	defer bar.Finish()
	o := indexing.Options{
		Config: config,
		Log:    cli.NewPlainLogger(term.Err, config.Log),
		Inputs: []corpus.Input{{Path: at, Source: source}},
		Build:  buildOptions(config, bar),
	}
	o.Build.Words = store.UnicodeWords()
	err = indexing.IndexOnce(ctx, o, names)
	if at := slices.IndexFunc(unread.Files, unreadFile.isFailure); err == nil && at >= 0 {
		err = fmt.Errorf("%s: %s", unread.Files[at].Path, unread.Files[at].Detail)
	}
	return err
}

// printWelcome writes where the demo is and what to try.
func printWelcome(out io.Writer, at net.Addr) {
	_, port, _ := net.SplitHostPort(at.String())
	_, _ = fmt.Fprintf(out, `
conclave serves the demo on %[1]s (Ctrl-C stops it). Try, in another terminal:

  curl -s '%[1]s/v1/search?q=how+do+I+stop+a+nosebleed&k=1' | python3 -m json.tool
  curl -s %[1]s/v1/search -H 'content-type: application/json' -d '{"question": "what is paid for a train that is late?", "k": 3, "fusion": ["auto", "rrf"]}' | python3 -m json.tool

or open %[1]s in a browser.
`, "http://127.0.0.1:"+port)
}
