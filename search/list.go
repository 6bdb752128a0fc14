package search

import (
	"fmt"

	"conclave/corpus"
)

// List returns passages in the order of their ids' bytes, those after an id
// ("": from the first), at most limit, and fewer where they would have more than
// Limits.AnswerBytes, but one at least. more says that there are others behind.
func (e *Engine) List(after string, limit int) (passages []corpus.Passage, more bool, err error) {
	if err := e.begin(); err != nil {
		return nil, false, err
	}
	defer e.running.Done()
	view := e.pin()
	defer view.letGo()
	unreadable := func(err error) error {
		return &Error{Kind: Unavailable, Code: "unavailable", Detail: "the passages could not be read; the server's log says why", Err: fmt.Errorf("listing passages: %w", err)}
	}
	ordinals, err := view.Passages().After(after, limit+1)
	if err != nil {
		return nil, false, unreadable(err)
	}
	passages = make([]corpus.Passage, 0, min(limit, len(ordinals)))
	for bytes := 0; len(passages) < len(ordinals); {
		ordinal := ordinals[len(passages)]
		size, err := view.Passages().Size(ordinal)
		if err != nil {
			return nil, false, unreadable(err)
		}
		if bytes += size; len(passages) == limit || len(passages) > 0 && bytes > e.limits.AnswerBytes {
			return passages, true, nil
		}
		passage, err := view.Passages().Passage(ordinal)
		if err != nil {
			return nil, false, unreadable(err)
		}
		passages = append(passages, passage)
	}
	return passages, false, nil
}
