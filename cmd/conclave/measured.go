package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"example.org/conclave/calibration"
	"example.org/conclave/configs"
	"example.org/conclave/internal/questions"
	"example.org/conclave/internal/server"
)

// evaluationTimeout is what the sources have for one question. It is long, so that a
// slow machine does not change the measured accuracy.
const evaluationTimeout = 30 * time.Second

// measured opens a collection for do, which asks it questions whose passages are known.
func measured(config configs.Config, term terminal, uncalibrated bool, do func(*server.Assembly) error) error {
	config.Limits.Timeout = max(config.Limits.Timeout, evaluationTimeout)
	config.Limits.Candidates = max(config.Limits.Candidates, calibration.EnsembleDepth)
	return opened(config, term, uncalibrated, do)
}

// gather asks all questions, and shows how far it is.
func gather(ctx context.Context, l *server.Assembly, domains []questions.Domain, term terminal) (*calibration.Evidence, error) {
	g, done := l.Passages(ctx)
	defer done()
	bar := newProgress(term.Err)
	defer bar.Finish()
	return calibration.Gather(ctx, l.Engine, g, domains, evaluationTimeout, bar.counting("asking", "questions"))
}

// writeFile writes a file through a function.
func writeFile(path string, write func(io.Writer) error) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := write(file); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// writeJSON writes a file for programs; none where there is no path.
func writeJSON(path string, report any) error {
	if path == "" {
		return nil
	}
	return writeFile(path, func(w io.Writer) error { return encodeIndented(w, report) })
}

func encodeIndented(w io.Writer, report any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}

// sampledTexts is how many passages questions are generated from: three of each at most.
const sampledTexts = 200

// generate makes questions of exact things from passages of the collection.
func generate(ctx context.Context, l *server.Assembly) (questions.Domain, error) {
	sample, err := l.Engine.Sample(ctx, sampledTexts)
	if err != nil {
		return questions.Domain{}, err
	}
	texts := make([]questions.Text, len(sample))
	for i, p := range sample {
		texts[i] = questions.Text{ID: p.ID, Title: p.Title, Text: p.Text}
	}
	return questions.Generate(texts), nil
}
