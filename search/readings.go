package search

import (
	"context"

	"conclave/corpus"
)

// Readings lets a reader, by name ("": the default), read passages for a question, in
// the order of their ids. It is for measuring: Extracts makes answers of what comes.
func (e *Engine) Readings(ctx context.Context, reader, question string, ids []string) (passages []corpus.Passage, readings []Reading, err error) {
	l, err := e.begin()
	if err != nil {
		return nil, nil, err
	}
	defer l.leave()
	var wrong problems
	x := l.readerFor(reader, &wrong)
	if x != nil && x.Reader == nil {
		wrong.add("unknown_reader", "/answer/reader", "%s writes answers and marks none", quote(x.Name))
	}
	if err := wrong.err(); err != nil {
		return nil, nil, err
	}
	for _, id := range ids {
		passage, _, err := e.Passage(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		passages = append(passages, passage)
	}
	err = guard(func() error { readings, err = x.Read(ctx, question, passages); return err })
	return passages, readings, err
}
