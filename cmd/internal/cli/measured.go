package cli

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
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/questions"
)

// EvaluationTimeout is what the sources have for one question. It is long, so that a
// slow machine does not change the measured accuracy.
const EvaluationTimeout = 30 * time.Second

// AskedSpecialists is how many specialists "auto" asks where nobody says
// otherwise. One is as good where every question has its domain's expert; the
// second is for those between two domains.
const AskedSpecialists = 2

// OpenForMeasuring calls do with the opened collection, as OpenCollection does, with limits that questions for
// measuring need: EvaluationTimeout for each, and at least calibration.EnsembleDepth candidates.
func OpenForMeasuring(
	config configs.Config,
	term Terminal,
	uncalibrated bool,
	do func(*assembly.Assembly) error,
) error {
	config.Limits.Timeout = max(config.Limits.Timeout, EvaluationTimeout)
	config.Limits.Candidates = max(config.Limits.Candidates, calibration.EnsembleDepth)
	return OpenCollection(config, term, uncalibrated, do)
}

// Gather asks the collection all questions, shows progress on the terminal, and returns what each source answered.
func Gather(
	ctx context.Context,
	l *assembly.Assembly,
	domains []questions.Domain,
	term Terminal,
) (*calibration.Evidence, error) {
	g, done := l.Passages(ctx)
	defer done()
	bar := NewProgress(term.Err)
	defer bar.Finish()
	return calibration.Gather(ctx, l.Engine, g, domains, EvaluationTimeout, bar.Counting("asking", "questions"))
}

// WriteFile creates the file at path, or empties it, and calls write with it. After an error, part of the file may be
// written.
func WriteFile(path string, write func(io.Writer) error) (err error) {
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

// WriteJSON writes a report as indented JSON to the file at path. With "" it does nothing.
func WriteJSON(path string, report any) error {
	if path == "" {
		return nil
	}
	return WriteFile(path, func(w io.Writer) error { return EncodeIndented(w, report) })
}

// EncodeIndented writes a report as indented JSON.
func EncodeIndented(w io.Writer, report any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}
