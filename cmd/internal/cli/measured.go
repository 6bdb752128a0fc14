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

// EvaluationTimeout is the time limit of the sources for one question. It is long, so that a slow machine does not
// change the measured accuracy.
const EvaluationTimeout = 30 * time.Second

// AskedSpecialists is the number of specialists that "auto" asks by default. One is as good if every question has its
// domain's expert; the second is for questions between two domains.
const AskedSpecialists = 2

// OpenForMeasuring opens the configured collection, calls do with it, closes it, and returns both errors joined; if it
// cannot be opened, do is not called. It raises two limits for measuring: the timeout of a question to
// EvaluationTimeout, and candidates to calibration.EnsembleDepth. config itself is not changed. With uncalibrated, the
// collection's own calibration is not used.
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

// WarnOfAbsent prints how many of the passages that questions name as their answers the collection lacks, with the
// first one and what follows from that; nothing if it has all. It fails if the collection cannot be read.
func WarnOfAbsent(term Terminal, passages questions.Passages, domains []questions.Domain, follows string) error {
	absent, err := questions.Absent(passages, domains)
	if err != nil || len(absent) == 0 {
		return err
	}
	_, _ = fmt.Fprintf(
		term.Err, "the collection lacks %s that the questions name, such as %s: %s; a search prints the ids that it has\n",
		Plural(int64(len(absent)), "passage"), Printable(absent[0]), follows,
	)
	return nil
}

// Gather asks the sources of the collection the questions, shows the progress on the terminal, and returns what each
// source answered. It leaves out questions whose relevant passages are all absent from the collection. It fails if a
// search fails, or no passage of a domain is in the collection.
func Gather(
	ctx context.Context,
	l *assembly.Assembly,
	domains []questions.Domain,
	term Terminal,
) (*calibration.Evidence, error) {
	g, done := l.Passages(ctx)
	defer done()
	if err := WarnOfAbsent(term, g, domains, "questions that name no other one are left out"); err != nil {
		return nil, err
	}
	bar := NewProgress(term.Err)
	defer bar.Finish()
	return calibration.Gather(ctx, l.Engine, g, domains, EvaluationTimeout, bar.Counting("asking", "questions"))
}

// WriteFile creates the file at path, or empties it, and calls write with it. After an error, part of the file may be
// written, and a file that was there is lost.
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

// WriteJSON writes a report as indented JSON to the file at path, which it creates or empties; with "" it does nothing.
// After an error, part of the file may be written, and a file that was there is lost.
func WriteJSON(path string, report any) error {
	if path == "" {
		return nil
	}
	return WriteFile(path, func(w io.Writer) error { return EncodeIndented(w, report) })
}

// EncodeIndented writes a report to w as indented JSON. It fails if writing to w does, or if report has no form in
// JSON.
func EncodeIndented(w io.Writer, report any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}
