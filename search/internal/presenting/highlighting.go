package presenting

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/reply"
)

// fetchVectors fetches the vectors that the highlights of items need, where a source asks for that. A failure is
// reported; the results then have no highlights of that source.
func (a *Page) fetchVectors(ctx context.Context, items []fusion.Item) {
	passages := make([]rank.Ordinal, len(items))
	for i, item := range items {
		passages[i] = item.Ordinal
	}
	for i := range a.answer.Findings {
		f := &a.answer.Findings[i]
		if f.FetchVectors == nil || f.Status != reply.StatusOK || len(passages) == 0 {
			continue
		}
		if err := run.Guard(func() error { return f.FetchVectors(ctx, passages) }); err != nil {
			a.answer.Found.Panel.Run.Report.Source(
				ctx, f.Source.Name(), reply.StatusFailed, fmt.Errorf("fetching vectors to highlight by: %w", err),
			)
		}
	}
}

// highlight returns the words of a passage that late interaction matched, and the part of the passage that is most
// similar to the question, or nil. For the part, experts with a weight in the score take precedence over the others. A
// source that fails is reported and left out.
func (a *Page) highlight(
	ctx context.Context,
	item *fusion.Item,
	p corpus.Passage,
) (words []reply.Highlight, phrase *reply.Highlight) {
	weighs := false // the granularity of phrase
	for i := range a.answer.Findings {
		f := &a.answer.Findings[i]
		if f.Highlight == nil || f.Status != reply.StatusOK {
			continue
		}
		var found []reply.Highlight
		if err := run.Guard(func() (err error) {
			found, err = f.Highlight(item.Ordinal, p)
			return err
		}); err != nil {
			a.answer.Found.Panel.Run.Report.Source(
				ctx, f.Source.Name(), reply.StatusFailed, fmt.Errorf("highlighting: %w", err),
			)
			continue
		}
		if f.Source.Kind() != reply.KindDense {
			words = found
			continue
		}
		counts := slices.ContainsFunc(
			item.Parts, func(part fusion.Part) bool { return part.Column == i && part.Weight > 0 },
		)
		for _, h := range found {
			if phrase == nil || counts && !weighs || counts == weighs && h.Score > phrase.Score {
				phrase = &h
				weighs = counts
			}
		}
	}
	return words, phrase
}
