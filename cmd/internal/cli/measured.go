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

// OpenForMeasuring opens a collection for do, which asks it questions whose passages are known.
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

// Gather asks all questions, and shows how far it is.
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

// WriteFile writes a file through a function.
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

// WriteJSON writes a file for programs; none where there is no path.
func WriteJSON(path string, report any) error {
	if path == "" {
		return nil
	}
	return WriteFile(path, func(w io.Writer) error { return EncodeIndented(w, report) })
}

func EncodeIndented(w io.Writer, report any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}
