package search

import (
	"context"
	"fmt"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
)

// late is late interaction (Khattab & Zaharia 2020, ColBERT, section 3), which
// compares each token of the question with each token of a passage. It is too
// expensive for all passages and cheap for some hundred, so it searches nothing: it
// scores what the other sources found, and it is part of the gate alone.
type late struct {
	identity
	*Expert
	contentWords *contentWords
}

// A request that names no expert searches words alone.
func (x *late) takesPart(l *lineUp, r *Request, m *fusion.Method) bool {
	return m.Uses(fusion.Late) && (r.Late == nil || *r.Late) && (r.Experts == nil || len(*r.Experts) > 0) &&
		l.defaults.Gate != nil &&
		len(l.defaults.Gate.Late) > 0
}

// ask encodes the question, a vector for each token, and finds where the
// passages' are. What they score is known when the others have answered.
func (x *late) ask(ctx context.Context, p *pass, f *finding) error {
	f.follows, f.close = true, true
	if x.Encoder.Readable(p.question) == 0 {
		f.score = scoreZero
		return nil
	}
	tokens, err := p.encodeBy(ctx, x.Expert, checkTokens, &f.took.Encode)
	if err != nil {
		return err
	}
	_, f.cut = x.Encoder.QuestionTokens(p.question)
	index, err := p.vectors(x.Expert, f, tokens)
	if expecting, ok := index.(storage.Expecting); ok && err == nil {
		expecting.Expect(tokens)
	}
	if fetched, ok := index.(storage.FetchedVectors); ok && err == nil {
		f.fetchVectors = fetched.FetchVectors
	}
	if err == nil {
		f.highlight = x.highlighter(context.WithoutCancel(ctx), p.view, index, p.question, tokens)
	}
	return err
}

func (x *late) observe(*finding, *familiarities) fusion.Observed {
	return fusion.Observed{Kind: fusion.Late}
}

// checkTokens checks the vectors of late interaction, one for each token, in one list.
func checkTokens(vector []float32, dimension int) error {
	if len(vector) == 0 || dimension > 0 && len(vector)%dimension != 0 {
		return fmt.Errorf("the encoder gave %d numbers, which are no vectors of %d", len(vector), dimension)
	}
	return checkVector(vector, 0)
}

// vectors returns the index of an expert, by which the finding scores passages.
func (p *pass) vectors(x *Expert, f *finding, question []float32) (storage.VectorIndex, error) {
	vectors, ok := p.view.Narrowed.Vectors(x.Name)
	if !ok {
		f.reason = "this collection has no vectors of the expert"
		return nil, fmt.Errorf("generation %d has no vectors of expert %q", p.view.Generation(), x.Name)
	}
	f.score = func(ctx context.Context, passages []rank.Ordinal, out []float32) error {
		return inParts(ctx, passages, out, func(passages []rank.Ordinal, out []float32) error {
			return vectors.Scores(ctx, question, passages, out)
		})
	}
	return vectors, nil
}
