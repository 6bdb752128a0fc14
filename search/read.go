package search

import (
	"context"

	"example.org/conclave/internal/wording"
	"example.org/conclave/search/extract"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
)

// Readings lets a reader, by name ("": the default), read passages for a question, in
// the order of their ids.
func (e *Engine) Readings(ctx context.Context, reader, question string, ids []string) (out extract.Read, err error) {
	l, err := e.begin()
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
