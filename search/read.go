package search

import (
	"context"

	"example.org/conclave/internal/wording"
	"example.org/conclave/search/extract"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
)

// Readings returns the readings of a reader for a question and stored passages, in the order of ids. reader is its
// name; "": the first. It is for calibration. It fails if the reader is unknown or a generator, if a passage does not
// exist, or if the reader fails.
func (e *Engine) Readings(ctx context.Context, reader, question string, ids []string) (out extract.Read, err error) {
	l, err := e.useLineUp()
	if err != nil {
		return out, err
	}
	defer l.panel.Users.Leave()
	var wrong fault.Problems
	x := l.readerFor(reader, &wrong)
	if x != nil && x.Reader == nil {
		wrong.Add("unknown_reader", "/answer/reader", "%s writes answers and marks none", wording.Quote(x.Name))
	}
	if err := wrong.Err(); err != nil {
		return out, err
	}
	out.Ranking = x.Ranking
	for _, id := range ids {
		passage, _, err := e.Passage(ctx, Caller{}, id)
		if err != nil {
			return out, err
		}
		out.Passages = append(out.Passages, passage)
	}
	err = run.Guard(func() error { out.Readings, err = x.Read(ctx, question, out.Passages); return err })
	return out, err
}
