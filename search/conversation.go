package search

import (
	"context"
	"sync"

	"example.org/conclave/search/access"
	"example.org/conclave/search/internal/question"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/internal/sources"
)

// askInConversation puts an inquiry to its sources, and at the same time the same question behind those before it
// where there are any; behind "" is none.
func (l *lineUp) askInConversation(
	ctx context.Context,
	q sources.Inquiry,
	behind string,
	view *snapshot.Pinned,
) *outcome {
	ask := func(q sources.Inquiry) (*sources.Findings, []question.Correction, []question.Expansion) {
		var corrections []question.Correction
		var used []question.Expansion
		if q.Correct &&
			access.Restriction(ctx) == nil { // what is said of it may be words of passages that are not seen
			q.Question, corrections = question.Speller{Run: l.panel.Run, Language: l.language}.Correct(ctx, view, q.Question)
		}
		q.Words, used = question.AddSynonyms(q.Question, l.defaults.Synonyms)
		return l.panel.Ask(ctx, q, view), corrections, used
	}
	var running sync.WaitGroup
	o := &outcome{}
	if behind != "" {
		other := q
		other.Question = behind
		running.Go(func() { o.earlier, _, _ = ask(other) })
	}
	o.found, o.corrections, o.synonyms = ask(q)
	running.Wait()
	return o
}
