package sources

import (
	"context"
	"fmt"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/storage"
)

// late is late interaction (Khattab & Zaharia 2020, ColBERT, section 3), which
// compares each token of the question with each token of a passage. It is too
// expensive for all passages and cheap for some hundred, so it searches nothing: it
// scores what the other sources found, and it is part of the gate alone.
type late struct {
	label
	Model        *learned.Expert
	contentWords *content.Words
}

// A request that names no expert searches words alone.
func (x *late) TakesPart(w *Selection, m *fusion.Method) bool {
	return m.Uses(fusion.Late) && w.Late && w.Experts && w.Gate != nil && len(w.Gate.Late) > 0
}

// ask encodes the question, a vector for each token, and finds where the
// passages' are. What they score is known when the others have answered.
func (x *late) ask(ctx context.Context, p *Findings, f *Finding) error {
	f.Follows, f.Close = true, true
	if x.Model.Encoder.Readable(p.Inquiry.Question) == 0 {
		f.Score = scoreZero
		return nil
	}
	tokens, err := p.encodeBy(ctx, x.Model, learned.CheckTokens, &f.Took.Encode)
	if err != nil {
		return err
	}
	_, f.Cut = x.Model.Encoder.QuestionTokens(p.Inquiry.Question)
	index, err := p.vectors(x.Model, f, tokens)
	if expecting, ok := index.(storage.Expecting); ok && err == nil {
		expecting.Expect(tokens)
	}
	if fetched, ok := index.(storage.FetchedVectors); ok && err == nil {
		f.FetchVectors = fetched.FetchVectors
	}
	if err == nil {
		f.Highlight = x.highlighter(context.WithoutCancel(ctx), p.View, index, p.Inquiry.Question, tokens)
	}
	return err
}

func (x *late) Observe(*Finding, *Familiarities) fusion.Observed {
	return fusion.Observed{Kind: fusion.Late}
}

// vectors returns the index of an expert, by which the finding scores passages.
func (p *Findings) vectors(x *learned.Expert, f *Finding, question []float32) (storage.VectorIndex, error) {
	vectors, ok := p.View.Narrowed.Vectors(x.Name)
	if !ok {
		f.Reason = "this collection has no vectors of the expert"
		return nil, fmt.Errorf("generation %d has no vectors of expert %q", p.View.Generation(), x.Name)
	}
	f.Score = func(ctx context.Context, passages []rank.Ordinal, out []float32) error {
		return inParts(ctx, passages, out, func(passages []rank.Ordinal, out []float32) error {
			return vectors.Scores(ctx, question, passages, out)
		})
	}
	return vectors, nil
}
