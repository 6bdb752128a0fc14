package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"conclave/collection"
	"conclave/configs"
	"conclave/corpus"
	"conclave/demo"
	"conclave/models"
	"conclave/provision"

	"github.com/spf13/cobra"
)

func newDemo(term terminal) *cobra.Command {
	var python string
	command := &cobra.Command{
		Use:   "demo",
		Short: "Fetch what is missing, index the demo corpus and serve it",
		Long: `Does all of it: setup, an index of the demo corpus (short passages of five
domains, written for this project) and the server. What is there already is
verified and used again, so the second start takes a moment only.`,
		Example: "  conclave demo\n  conclave demo --listen 127.0.0.1:9000",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := settings(cmd, term)
			if err != nil {
				return err
			}
			cache, err := cacheOf(config)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("log-level") {
				config.Log.Level = "warn" // the answers are what there is to see
			}
			provider := "cpu"
			if config.Encoder.Provider == "cuda" {
				provider = "cuda"
			}
			if err := setup(cmd.Context(), cache, provider, python, term.Err); err != nil {
				return err
			}
			config.Experts = []configs.Expert{{Name: baseExpert}}
			if !cmd.Flags().Changed("collection") {
				if config.Collection, err = demoFolder(cache); err != nil {
					return err
				}
			}
			if err := buildDemo(cmd.Context(), config, cache, term); err != nil {
				return err
			}
			return serve(cmd.Context(), config, newLogger(term.Err, config.Log), func(at net.Addr) { welcome(term.Out, at) })
		},
	}
	addConfigFlags(command.Flags(), "listen", "collection", "encoder.provider", "encoder.threads")
	command.Flags().StringVar(&python, "python", "python3", "Python `interpreter` with pip, used to download")
	return command
}

// demoFolder is where the demo's collection lies: in the cache, under a name
// that changes with the corpus and with the encoder, so that an old one is
// never taken for the new.
func demoFolder(cache provision.Cache) (string, error) {
	bundle, err := models.Peek(cache.Bundle(baseExpert))
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, _ = io.WriteString(sum, bundle.Fingerprint(models.Passage))
	err = eachDemoFile(func(name string, data []byte) error {
		_, _ = fmt.Fprintf(sum, "\n%s %d\n", name, len(data))
		_, _ = sum.Write(data)
		return nil
	})
	return filepath.Join(cache.Root, "demo", hex.EncodeToString(sum.Sum(nil))[:16]), err
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
func buildDemo(ctx context.Context, config configs.Config, cache provision.Cache, term terminal) (err error) {
	if has, err := collectionExperts(config.Collection); err == nil && len(has) > 0 {
		return nil
	}
	loaded, err := openExperts(config, newLogger(term.Err, config.Log), []string{baseExpert})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, loaded.Close()) }()
	source, done, err := openDemo(filepath.Join(cache.Root, "demo"))
	if err != nil {
		return err
	}
	defer done()
	bar := newProgress(term.Err)
	defer bar.Finish()
	_, err = collection.Build(ctx, config.Collection, source, buildOptions(config, loaded, bar))
	return err
}

// openDemo writes the embedded passages to files, since that is what is
// indexed, and opens them. done removes them.
func openDemo(parent string) (source *corpus.Series, done func(), err error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		parent = "" // a read-only cache: the system's folder for temporary files
	}
	folder, err := os.MkdirTemp(parent, ".passages-")
	if err != nil {
		return nil, nil, err
	}
	remove := func() { _ = os.RemoveAll(folder) }
	var in []corpus.Input
	err = eachDemoFile(func(name string, data []byte) error {
		path := filepath.Join(folder, filepath.Base(name))
		in = append(in, corpus.Input{Path: path})
		return os.WriteFile(path, data, 0o644)
	})
	if err == nil {
		source, err = corpus.OpenSeries(in)
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return source, func() { _ = source.Close(); remove() }, nil
}

func welcome(out io.Writer, at net.Addr) {
	_, port, _ := net.SplitHostPort(at.String())
	base := "http://127.0.0.1:" + port
	_, _ = fmt.Fprintf(out, `
conclave serves the demo on %[1]s (Ctrl-C stops it). Try, in another terminal:

  curl -s '%[1]s/v1/search?q=how+do+I+stop+a+nosebleed&k=3&fusion=hybrid' | python3 -m json.tool
  curl -s %[1]s/v1/search -H 'content-type: application/json' -d '{"question": "why did the fox hide the moon?", "k": 3, "fusion": ["rrf", "hybrid"]}' | python3 -m json.tool

or open %[1]s/docs in a browser.
`, base)
}
