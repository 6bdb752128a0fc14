package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"runtime"
	"slices"
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
		Long: `Does all of it: setup, an index of the demo corpus (short passages of five
domains, written for this project) as 'conclave index' makes it by default, and
the server. What is there already is verified and used again, so the second
start takes a moment only.`,
		Example: "  conclave demo\n  conclave demo --listen 127.0.0.1:9000",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, cache, err := settingsAndCache(cmd, term)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("log-level") {
				config.Log.Level = "warn" // the answers are what there is to see
			}
			o.Provider, o.Usual = "cpu", true
			if config.Encoder.Provider == "cuda" {
				o.Provider = "cuda"
			}
			names, err := setup(cmd.Context(), o, cache, term)
			if err != nil {
				return err
			}
			config.Experts = demoExperts(cache, names)
			own, name := !cmd.Flags().Changed("collection"), ""
			if own {
				name = "demo"
				if config.Collection, err = demoFolder(cache, names); err != nil {
					return err
				}
			}
			release, err := holdDemo(cmd.Context(), cache, config.Collection, own)
			if err != nil {
				return provision.ExplainFull(err, cache.Root)
			}
			defer release()
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

// demoExperts are the base encoder and the experts of these names, as setup
// made them.
func demoExperts(cache provision.Cache, names []string) []configs.Expert {
	all := []configs.Expert{{Name: shipped.Base, Bundle: cache.Bundle(shipped.Base)}}
	for _, name := range names {
		all = append(all, configs.Expert{Name: name, Bundle: cache.Bundle(name)})
	}
	return all
}

func eachDemoFile(do func(name string, data []byte) error) error {
	for _, domain := range demo.Domains() {
		name := "passages/" + domain + ".jsonl"
		data, err := fs.ReadFile(demo.FS, name)
		if err != nil {
			return err
		}
		if err := do(name, data); err != nil {
			return err
		}
	}
	return nil
}

// buildDemo indexes the demo corpus unless it is indexed already.
func buildDemo(ctx context.Context, config configs.Config, term terminal) (err error) {
	var names []string
	for _, x := range config.Experts {
		names = append(names, x.Name)
	}
	if has, err := collectionExperts(config.Collection); err == nil && len(has) > 0 {
		var indexed []string
		for _, x := range has {
			indexed = append(indexed, x.Name)
		}
		if slices.Equal(slices.Sorted(slices.Values(indexed)), slices.Sorted(slices.Values(names))) {
			return nil
		}
		return fmt.Errorf("%s was indexed by %s, and this version has %s: remove that folder, or name another with --collection, and the demo is indexed anew", config.Collection, strings.Join(indexed, ", "), strings.Join(names, ", "))
	}
	config.Encoder.Threads = serving.ThreadsOfOne(config, runtime.GOMAXPROCS(0))
	loaded, err := serving.OpenExperts(config, newSaying(term.Err, config.Log), names)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, loaded.Close()) }()
	source, err := openDemo()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	bar := newProgress(term.Err)
	defer bar.Finish()
	options := buildOptions(config, loaded, bar)
	options.Words = collection.NewWords(true)
	_, err = collection.Build(ctx, config.Collection, source, options)
	return err
}

// openDemo opens the passages of all domains.
func openDemo() (*corpus.Series, error) {
	var all bytes.Buffer
	if err := eachDemoFile(func(_ string, data []byte) error {
		all.Write(data)
		return nil
	}); err != nil {
		return nil, err
	}
	return corpus.OpenSeries([]corpus.Input{{Path: "-", Stdin: &all}})
}
