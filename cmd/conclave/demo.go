package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"

	"conclave/collection"
	"conclave/configs"
	"conclave/corpus"
	"conclave/demo"
	shipped "conclave/experts"
	"conclave/provision"
	"conclave/serving"

	"github.com/spf13/cobra"
)

func newDemo(term terminal) *cobra.Command {
	var o shipped.Setup
	command := &cobra.Command{
		Use:   "demo",
		Short: "Fetch what is missing, index the demo corpus and serve it",
		Long: `Runs setup, indexes the demo corpus as 'conclave index' does by default, and
serves it. The demo corpus is short passages of five domains, written for this
project. Files that exist are verified and used again, so the second start takes
a moment only.`,
		Example: "  conclave demo\n  conclave demo --listen 127.0.0.1:9000",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, cache, err := settingsAndCache(cmd, term)
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
				if config.Collection, err = demo.Folder(cache, names); err != nil {
					return err
				}
				if err := demo.MakeRoom(cache, config.Collection); err != nil {
					return err
				}
			}
			if err := buildDemo(cmd.Context(), config, term); err != nil {
				return provision.ExplainFull(err, config.Collection)
			}
			return serve(cmd.Context(), config, name, term, func(at net.Addr) { welcome(term.Out, at) })
		},
	}
	addConfigFlags(command.Flags(), "listen", "collection", "encoder.provider", "encoder.threads")
	bindSetup(command.Flags(), &o)
	return command
}

// buildDemo indexes the demo corpus unless it is indexed already.
func buildDemo(ctx context.Context, config configs.Config, term terminal) error {
	var names, indexed []string
	for _, x := range config.Experts {
		names = append(names, x.Name)
	}
	has, err := serving.StoredExperts(config.Collection)
	for _, x := range has {
		indexed = append(indexed, x.Name)
	}
	switch {
	case err == nil && shipped.Same(indexed, names):
		return nil
	case has != nil:
		return fmt.Errorf("%s was indexed by %s, and this version has %s: remove that folder, or name another with --collection, and the demo is indexed anew", config.Collection, strings.Join(indexed, ", "), strings.Join(names, ", "))
	}
	passages, err := demo.Passages()
	if err != nil {
		return err
	}
	bar := newProgress(term.Err)
	defer bar.Finish()
	o := serving.IndexOptions{Config: config, Log: newSaying(term.Err, config.Log), Inputs: []corpus.Input{{Path: "-", Stdin: bytes.NewReader(passages)}},
		Experts: strings.Join(names, ","), Build: buildOptions(config, bar)}
	o.Build.Words = collection.NewWords(true)
	_, err = serving.Index(ctx, o)
	return err
}
