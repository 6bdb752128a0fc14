package search

import (
	"fmt"

	"conclave/corpus"
)

// List returns passages in the order of their ids' bytes, those after an id
// ("": from the first), at most limit, and fewer where they would have more than
// Limits.AnswerBytes, but one at least. more says that there are others behind.
func (e *Engine) List(after string, limit int) (passages []corpus.Passage, more bool, err error) {
	l, err := e.begin()
	if err != nil {
		return nil, false, err
	}
	defer l.leave()
	view := e.pin()
	defer view.letGo()
	err = guard(func() (err error) {
		passages, more, err = e.list(view.Passages(), after, limit)
		return err
	})
	if err != nil {
		return nil, false, &Error{Kind: Unavailable, Code: "unavailable", Detail: "the passages could not be read; the server's log says why", Err: fmt.Errorf("listing passages: %w", err)}
	}
	return passages, more, nil
}

func (e *Engine) list(from Passages, after string, limit int) (passages []corpus.Passage, more bool, err error) {
	ordinals, err := from.After(after, limit+1)
	if err != nil {
		return nil, false, err
	}
	passages = make([]corpus.Passage, 0, min(limit, len(ordinals)))
	for bytes := 0; len(passages) < len(ordinals); {
		ordinal := ordinals[len(passages)]
		size, err := from.Size(ordinal)
		if err != nil {
			return nil, false, err
		}
		if bytes += size; len(passages) == limit || len(passages) > 0 && bytes > e.limits.AnswerBytes {
			return passages, true, nil
		}
		passage, err := from.Passage(ordinal)
		if err != nil {
			return nil, false, err
		}
		passages = append(passages, passage)
	}
	return passages, false, nil
}
