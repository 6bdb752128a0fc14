package sources

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/run"
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
	known := map[rank.Ordinal]float32{}
	for i := range p.All {
		if f := &p.All[i]; f.near != nil && f.Status == reply.StatusOK {
			known = f.near
		}
	}
	var others []rank.Ordinal
	for i, o := range passages {
		score, ok := known[o]
		if !ok {
			others = append(others, o)
		}
		out[i] = score
	}
	if len(others) == 0 {
		return nil
	}
	scores := make([]float32, len(others))
	err := inParts(ctx, others, scores, func(passages []rank.Ordinal, out []float32) error {
		return index.NearScores(ctx, p.Inquiry.Question, passages, out)
	})
	if err != nil {
		return err
	}
	for i, next := 0, 0; next < len(others); i++ {
		if passages[i] == others[next] {
			out[i] = scores[next]
			next++
		}
	}
	return nil
}

// nearOfHits returns the nearness of the words' hits, so that it is computed while encoders run. It is nil if nearness
// takes no part, if texts are not at hand (storage.AtHand), or if it cannot be computed: then nearness, when it is
// asked, says why.
func (p *Findings) nearOfHits(ctx context.Context, hits []rank.Hit) map[rank.Ordinal]float32 {
	if _, quick := p.View.Passages().(storage.AtHand); !quick || !p.asksNear() {
		return nil
	}
	index, ok := p.View.Narrowed.Words().(storage.NearScorer)
	if !ok {
		return nil
	}
	passages := make([]rank.Ordinal, len(hits))
	for i, h := range hits {
		passages[i] = h.Ordinal
	}
	scores := make([]float32, len(hits))
	err := p.Panel.Run.Compute(ctx, func(ctx context.Context) error {
		return run.Guard(func() error {
			return inParts(ctx, passages, scores, func(passages []rank.Ordinal, out []float32) error {
				return index.NearScores(ctx, p.Inquiry.Question, passages, out)
			})
		})
	})
	if err != nil {
		return nil
	}
	near := make(map[rank.Ordinal]float32, len(hits))
	for i, o := range passages {
		near[o] = scores[i]
	}
	return near
}

// asksNear reports whether nearness is one of the sources asked.
func (p *Findings) asksNear() bool {
	return slices.ContainsFunc(p.asked, func(at int) bool {
		_, near := p.Panel.Sources[at].(*nearSource)
		return near && p.Inquiry.Unused[at] == ""
	})
}
