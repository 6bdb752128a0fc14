package search

import (
	"context"

	"example.org/conclave/search/internal/question"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/internal/sources"
)

// estimateConfidence returns the confidence of the answer to a text as a question, with the inquiry's filter and all
// other defaults. known is false if the default method gives no confidence or searching fails.
func (l *lineUp) estimateConfidence(
	ctx context.Context,
	q *sources.Inquiry,
	view *snapshot.PinnedView,
	text string,
) (confidence float64, known bool) {
	if l.defaults.Chances == nil {
		return 0, false
	}
	p, err := l.plan(&Request{Question: text, Filter: q.Filter})
	if err != nil || p.Listed || !p.WeighsByQuestion() {
		return 0, false
	}
	p.Inquiry.Filter = q.Filter // with what passages must have
	p.Inquiry.Words, _ = question.AddSynonyms(p.Inquiry.Question, l.defaults.Synonyms)
	found := l.panel.Ask(ctx, p.Inquiry, view)
	a, err := l.rank(ctx, Caller{}, p, &askResult{found: found}, found.All)
	if err != nil {
		return 0, false
	}
	defer a.Done()
	if c := a.Rankings[0].Confidence; c != nil {
		return *c, true
	}
	return 0, false
}
