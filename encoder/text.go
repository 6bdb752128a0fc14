package encoder

import (
	"context"
	"fmt"
	"slices"

	"conclave/models"
)

// Text is a passage to encode. Without a title the template has no effect.
type Text struct{ Title, Text string }

// EncodeQuestion is the vector of a question, which the caller may change: a
// Late encoder's is the vectors of the question's n tokens one after another,
// n·Dimension numbers. Each is as long as the share of its token in the
// question, so that the lengths add up to 1; the special tokens that begin and
// end a question are left out, unless there are no others.
//
// Questions that are longer than the bundle's limit lose their end; any bytes
// are allowed. Equal questions give equal vectors, whatever else is being
// encoded: within 1e-5 in every component.
//
// The error is ctx's when that ends first, batcher.ErrClosed after Close, one
// with a method Overloaded() bool that is true when too many questions wait,
// or ONNX Runtime's.
func (e *Encoder) EncodeQuestion(ctx context.Context, text string) ([]float32, error) {
	tokens := e.tokenizer.question(text, e.bundle.Manifest.MaxTokens.Question)
	if tokens.err != nil {
		return nil, tokens.err
	}
	vector, err := e.runs().Question(ctx, tokens.ids)
	if err != nil {
		return nil, fmt.Errorf("encoding a question with %s: %w", e.Name(), err)
	}
	return e.own(vector), nil
}

// EncodePassages is the vectors of texts, in their order; errors are as for
// EncodeQuestion. A Late encoder's are as there too, but all of unit length:
// n·Dimension numbers for a text of n tokens.
//
// Texts are put through the bundle's template, cut to its
// limit, sorted by length in windows and run in batches, between which
// questions go first. A call for a few thousand texts at a time runs as fast
// as one for all.
func (e *Encoder) EncodePassages(ctx context.Context, texts []Text) ([][]float32, error) {
	vectors, err := e.encodePassages(ctx, texts)
	if e.from == nil && e.carries == 0 {
		return vectors, err
	}
	for i, v := range vectors {
		vectors[i] = slices.Clone(e.own(v)) // the other part's memory is not held
	}
	return vectors, err
}

// encodePassages gives what the runs do: see own.
func (e *Encoder) encodePassages(ctx context.Context, texts []Text) ([][]float32, error) {
	rows := make([][]int32, len(texts))
	for i, text := range texts {
		if i%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var err error
		if rows[i], err = e.passageTokens(text, e.bundle.Manifest.MaxTokens.Passage); err != nil {
			return nil, err
		}
	}
	vectors, err := e.runs().Passages(ctx, rows)
	if err != nil {
		return nil, fmt.Errorf("encoding %d passages with %s: %w", len(texts), e.Name(), err)
	}
	return vectors, nil
}

// CutsQuestion reports whether a question is longer than the bundle's limit,
// so that EncodeQuestion leaves its end out.
func (e *Encoder) CutsQuestion(text string) bool {
	return e.tokenizer.question(text, e.bundle.Manifest.MaxTokens.Question).cut
}

// KnownWords says how many words a question has, how many of them the encoder's
// vocabulary has whole, and how many it cannot read at all.
func (e *Encoder) KnownWords(text string) (words, whole, unknown int) {
	w := e.tokenizer.Words(text)
	return w.All, w.Whole, w.Unknown
}

// CutsPassage is CutsQuestion for a passage in its template.
func (e *Encoder) CutsPassage(t Text) bool {
	limit := e.bundle.Manifest.MaxTokens.Passage
	ids, err := e.passageTokens(t, limit+1)
	return err == nil && len(ids) > limit
}

// passageTokens puts a passage through the bundle's template and cuts it to
// limit tokens. Token types are zero in all templates: DPR was trained so,
// also for pairs.
func (e *Encoder) passageTokens(t Text, limit int) ([]int32, error) {
	switch template := e.bundle.Manifest.Template; {
	case template == models.TemplatePair && t.Title != "":
		ids, _, err := e.tokenizer.EncodePair(t.Title, t.Text, limit)
		return ids, err
	case template == models.TemplateTitleDotText && t.Title != "":
		return e.tokenizer.Encode(t.Title+". "+t.Text, limit)
	default:
		return e.tokenizer.Encode(t.Text, limit)
	}
}
