// Command encoder measures the encoder beside Python's onnxruntime running
// the same graph, in turns, and prints the ratios:
//
//	go run ./research/bench/encoder
//
// The peer is given ready token ids and does nothing but session.run; own
// figures include tokenising, queueing and handing the vector back. Needs
// `conclave setup`, and Python with numpy and onnxruntime.
//
//	go run ./research/bench/encoder -providers cpu,cuda
//
// measures our own side alone, on the processor and on the GPU, and prints questions a second side by side. Needs
// `conclave setup --provider cuda`, and no Python.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"example.org/conclave/encoder"
	"example.org/conclave/encoder/wordpiece"
	"example.org/conclave/internal/provision"
	"example.org/conclave/models"
	"example.org/conclave/research/bench/peer"
	"example.org/conclave/research/bench/words"
)

// main measures encoders against a peer in Python, or on several providers, prints the figures and writes them to the
// file -json if that is set.
func main() {
	bundles := flag.String("bundles", "base-fp32,base", "names of bundles in the cache, or folders")
	questions := flag.String(
		"questions", "shipped/demo/questions/dev.jsonl,shipped/demo/questions/test.jsonl",
		"JSON Lines with a field question",
	)
	python := flag.String("python", "python3", "Python interpreter of the peer")
	callers := flag.Int("callers", 64, "concurrent callers")
	threads := flag.Int("threads", 0, "threads of a run, ours and the peer's; 0: all cores")
	limit := flag.Int(
		"limit", 320, "questions of one turn; short turns, so that other work on the machine hits both sides",
	)
	rounds := flag.Int("rounds", 15, "turns of each side")
	asJSON := flag.String("json", "", "file to write the figures to")
	providers := flag.String("providers", "", "measure on each of these, in place of the peer: cpu,cuda")
	flag.Parse()
	m := measurement{python: *python, callers: *callers, threads: *threads, rounds: *rounds, limit: *limit}
	var results any
	err := m.read(strings.Split(*questions, ","))
	switch {
	case err != nil:
	case *providers != "":
		results, err = m.measureProviders(
			context.Background(), strings.Split(*bundles, ","), strings.Split(*providers, ","),
		)
	default:
		results, err = m.measureAll(strings.Split(*bundles, ","))
	}
	if err == nil {
		err = peer.WriteJSON(*asJSON, results)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "encoder benchmark:", err)
		os.Exit(1)
	}
}

// read sets m.texts to the texts of questions in files, each once, m.limit at most. It fails if a file cannot be
// read.
func (m *measurement) read(questions []string) (err error) {
	m.texts, err = words.ReadQuestions(questions)
	if err != nil {
		return fmt.Errorf("%w; run from the project's root, or name files with -questions", err)
	}
	seen := make(map[string]bool)
	m.texts = slices.DeleteFunc(m.texts, func(text string) bool {
		again := seen[text]
		seen[text] = true
		return again
	})
	m.texts = m.texts[:min(len(m.texts), m.limit)]
	return nil
}

// load loads a bundle by its folder if name has a path separator, else by its name in the cache. It fails if there is
// none or it is damaged.
func load(cache provision.Cache, name string) (*models.Bundle, error) {
	if strings.ContainsRune(name, os.PathSeparator) {
		return models.Load(name)
	}
	return models.Load(cache.Bundle(name))
}

// measureAll measures the bundles one after the other, on the processor, and prints each result. It stops at the
// first that fails.
func (m *measurement) measureAll(bundles []string) (results []result, err error) {
	cache, err := provision.DefaultCache()
	if err != nil {
		return nil, err
	}
	library, err := encoder.OpenRuntime(cache.Library())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, library.Close()) }()
	fmt.Printf(
		"ONNX Runtime %s, %d questions, %d callers, %d rounds\n", library.Version(), len(m.texts), m.callers, m.rounds,
	)
	for _, name := range bundles {
		b, err := load(cache, name)
		if err != nil {
			return nil, err
		}
		r, err := m.measureBundle(context.Background(), library, b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r.print()
		results = append(results, r)
	}
	return results, nil
}

// measureBundle measures one model against its peer. The encoder's cache is off and every question is another one, so
// that each is computed. It fails if either does not run.
func (m *measurement) measureBundle(
	ctx context.Context, library *encoder.Runtime, b *models.Bundle,
) (r result, err error) {
	e, err := library.Open(b, encoder.Running{Threads: m.threads, Queue: 2 * m.callers})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	tokenizer, err := wordpiece.Open(b.Path(b.Manifest.Tokenizer), b.Manifest.LowerCase)
	if err != nil {
		return r, err
	}
	rows := make([][]int32, len(m.texts))
	for i, text := range m.texts {
		rows[i], err = tokenizer.Encode(text, b.Manifest.Vectors.MaxTokens.Question)
		if err != nil {
			return r, err
		}
	}
	p, version, err := startPeer(m.python, b.Path(b.Manifest.Vectors.Question.File), m.threads, rows)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.End()) }()
	if version != library.Version() {
		fmt.Printf("note: the peer runs ONNX Runtime %s\n", version)
	}
	return m.compareSides(ctx, e, p, b.Manifest.Precision)
}
