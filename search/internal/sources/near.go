package sources

import (
	"context"
	"fmt"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
)

// nearSource is the source of nearness: how many of the question's words, by their rarity, stand close together in a
// passage. It reads the texts of passages, so it has no hits of its own: it scores what the other sources found. Only
// the gate weighs it, next to words.
type nearSource struct{ label }

// TakesPart implements Source: it reports whether the method uses nearness, the request wants BM25, and the fitted gate
// gives nearness a weight.
func (x *nearSource) TakesPart(w *Selection, m *fusion.Method) bool {
	return m.Uses(fusion.Near) && w.Words && w.Gate != nil && w.Gate.Near > 0
}

// isAvailable implements Source: it reports whether the word index can score nearness.
func (x *nearSource) isAvailable(in storage.Indexes) bool {
	_, ok := in.Words().(storage.NearScorer)
	return ok
}

// ask implements Source. It sets the functions of f that score and explain passages later, when the other sources have
// answered. It fails if the word index does not score nearness.
func (x *nearSource) ask(_ context.Context, p *Findings, f *Finding) error {
	index, ok := p.View.Narrowed.Words().(storage.NearScorer)
	if !ok {
		return fmt.Errorf("the word index of generation %d does not score nearness", p.View.Generation())
	}
	question := p.Inquiry.Question
	f.Follows = true
	f.Score = func(ctx context.Context, passages []rank.Ordinal, out []float32) error {
		return inParts(ctx, passages, out, func(passages []rank.Ordinal, out []float32) error {
			return index.NearScores(ctx, question, passages, out)
		})
	}
	f.Explain = func(ctx context.Context, passage rank.Ordinal) ([]storage.TermScore, error) {
		return index.ExplainNear(ctx, question, passage)
	}
	index.ExpectNear(question)
	return nil
}

// Observe implements Source: it returns only the kind.
func (x *nearSource) Observe(*Finding, *Familiarities) fusion.ObservedSource {
	return fusion.ObservedSource{Kind: fusion.Near}
}
