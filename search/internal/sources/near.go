package sources

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/reply"
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
		return p.scoreNear(ctx, index, passages, out)
	}
	f.Explain = func(ctx context.Context, passage rank.Ordinal) ([]storage.TermScore, error) {
		return index.ExplainNear(ctx, question, passage)
	}
	index.ExpectNear(question)
	return nil
}

// Observe implements Source: it returns an observation with the kind alone, since nearness has no confidence or
// familiarity.
func (x *nearSource) Observe(*Finding, *Familiarities) fusion.ObservedSource {
	return fusion.ObservedSource{Kind: fusion.Near}
}

// scoreNear writes the nearness of passages to out. It computes that of passages which the words did not find;
// the words' finding has the others (nearOfHits). It fails if the index does.
func (p *Findings) scoreNear(
	ctx context.Context, index storage.NearScorer, passages []rank.Ordinal, out []float32,
) error {
	var known ahead
	for i := range p.All {
		if f := &p.All[i]; f.near != nil && f.Status == reply.StatusOK {
			known = f.near
		}
	}
	return known.complete(ctx, passages, out, p.besideEachOther(p.nearBy(index)))
}

// nearOfHits returns the nearness of the words' hits, so that it is computed while encoders run. It is nil if nearness
// takes no part, if texts are not at hand (storage.AtHand), or if it cannot be computed: then nearness, when it is
// asked, says why.
func (p *Findings) nearOfHits(ctx context.Context, hits []rank.Ordinal) ahead {
	index, ok := p.View.Narrowed.Words().(storage.NearScorer)
	if !ok || !p.asksNear() {
		return nil
	}
	return p.scoreAhead(ctx, hits, p.nearBy(index))
}

// nearBy returns the scorer of nearness to the question by a word index.
func (p *Findings) nearBy(index storage.NearScorer) scorer {
	return func(ctx context.Context, passages []rank.Ordinal, out []float32) error {
		return inParts(ctx, passages, out, func(passages []rank.Ordinal, out []float32) error {
			return index.NearScores(ctx, p.Inquiry.Question, passages, out)
		})
	}
}

// asksNear reports whether nearness is one of the sources asked.
func (p *Findings) asksNear() bool {
	return slices.ContainsFunc(p.asked, func(at int) bool {
		_, near := p.Panel.Sources[at].(*nearSource)
		return near && p.Inquiry.Unused[at] == ""
	})
}
