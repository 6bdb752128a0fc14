package encoder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"example.org/conclave/encoder/batcher"
	"example.org/conclave/models"
)

// Encoder is one expert's encoder. It is safe for concurrent use; Close it to
// free its memory and threads.
type Encoder struct {
	runtime   *Runtime
	bundle    *models.Bundle
	tokenizer *questionTokens
	ensemble  *Ensemble // nil: none
	table     []float32 // a sparse encoder's weights of questions' word pieces; nil: the model reads questions
	model     *model    // shared with the encoder that it carries, or that carries it
	carried   *Encoder  // whose vectors the model gives too; nil: no other's
	from, to  int       // this one's part of what model gives for a text; to 0: up to the end
	cut       atomic.Int64
	unread    atomic.Int64
	closeOnce sync.Once
}

// ownPart returns this encoder's part of the vector that the shared model gives for a text, in place.
func (e *Encoder) ownPart(vector []float32) []float32 {
	if e.to > 0 {
		return vector[e.from:e.to:e.to]
	}
	return vector[e.from:]
}

// Name returns the name of the encoder's bundle.
func (e *Encoder) Name() string { return e.bundle.Manifest.Name }

// Late reports whether a text has a vector for each of its tokens instead of one for all (EncodeQuestion,
// EncodePassages).
func (e *Encoder) Late() bool { return e.bundle.Manifest.Kind == models.KindLate }

// Sparse reports whether a text's vector is a list of pairs of a word piece's id and its weight (models.KindSparse).
func (e *Encoder) Sparse() bool { return e.bundle.Manifest.Kind == models.KindSparse }

// Dimension returns how many numbers a vector has; for a Sparse encoder each pair, for a Late one each token's vector.
func (e *Encoder) Dimension() int { return e.bundle.Manifest.Dimension() }

// Fingerprint returns the fingerprint of the encoder for questions or passages. That for passages also names the
// normalisation of texts (Normalised). Questions are normalised alike, but keep the bundle's fingerprint, for which
// calibrations were fitted.
func (e *Encoder) Fingerprint(side models.Side) string {
	own := e.bundle.Fingerprint(side)
	if side == models.Passage {
		own = Normalised(own)
	}
	return own
}

// Ensemble returns the expert's ensemble; nil if it has none.
func (e *Encoder) Ensemble() *Ensemble { return e.ensemble }

// Carried returns the encoder whose vectors ReadPassagesBoth also returns; nil if there is none.
func (e *Encoder) Carried() *Encoder { return e.carried }

// Provider returns where the model runs: CPU or CUDA.
func (e *Encoder) Provider() string { return e.model.provider }

// Fallback returns why Auto did not choose cuda; nil if it did, or the provider was not Auto.
func (e *Encoder) Fallback() error { return e.model.fallback }

// Stats returns the counts of the model's queue, which an encoder and the one that it carries share.
func (e *Encoder) Stats() batcher.Stats { return e.model.batcher.Stats() }

// CutPassages returns how many passages since it was opened were longer than the bundle's limit, so that only their
// beginning was read.
func (e *Encoder) CutPassages() int64 { return e.cut.Load() }

// UnreadPassages returns how many passages since it was opened the encoder could hardly read: less than half of
// their words' characters.
func (e *Encoder) UnreadPassages() int64 { return e.unread.Load() }

// SelfTest returns an error if the tokenizer does not work (wordpiece.Tokenizer.SelfTest).
func (e *Encoder) SelfTest() error { return e.tokenizer.SelfTest() }

// Close answers the questions that wait, ends calls of EncodePassages with an error, and frees the model unless another
// encoder uses it. A second call returns nil.
func (e *Encoder) Close() (err error) {
	e.closeOnce.Do(func() { err = e.closeLoaded() })
	return err
}

// EncodeQuestion returns the vector of a question, which the caller may change: a
// Late encoder's is the vectors of the question's n tokens one after another,
// n·Dimension numbers. Each is as long as the share of its token in the
// question, so that the lengths add up to 1; the special tokens that begin and
// end a question are left out, unless there are no others. Tokens that the encoder
// cannot read are zeros, and the lengths of the others add up to Readable.
//
// Questions that are longer than the bundle's limit lose their end; any bytes
// are allowed. Equal questions give equal vectors, whatever else is being
// encoded: within 1e-5 in every component.
//
// The error is ctx's when that ends first, batcher.ErrClosed after Close, one
// with a method Overloaded() bool that is true when too many questions wait,
// or ONNX Runtime's.
func (e *Encoder) EncodeQuestion(ctx context.Context, text string) ([]float32, error) {
	tokens := e.tokenizer.tokensOf(e.withPrefix(text), e.bundle.Manifest.Vectors.MaxTokens.Question)
	if tokens.err != nil {
		return nil, tokens.err
	}
	if e.table != nil {
		return e.lookUpVector(tokens.ids), nil
	}
	vector, err := e.model.batcher.Question(ctx, tokens.ids)
	if err != nil {
		return nil, fmt.Errorf("encoding a question with %s: %w", e.Name(), err)
	}
	vector = e.ownPart(vector)
	if e.Late() {
		e.hideQuestion(vector, tokens.ids, tokens.read)
	}
	return vector, nil
}

// EncodePassages returns the vectors of texts, in their order; errors are as for
// EncodeQuestion. A Late encoder's are as there too, but all of unit length:
// n·Dimension numbers for a text of n tokens.
//
// Texts are put through the bundle's template, cut to its limit, sorted by
// length in windows and run in batches, between which questions go first. A
// call for a few thousand texts at a time runs as fast as one for all.
func (e *Encoder) EncodePassages(ctx context.Context, texts []Text) ([][]float32, error) {
	vectors, _, err := e.ReadPassages(ctx, texts)
	return vectors, err
}

// ReadPassages returns the vectors of texts, as EncodePassages does, and the weight of each, 0 to 1, as Readable does
// for a question. The vectors are not multiplied by it. It fails if a text cannot be tokenised, the graph fails, or ctx
// ends.
func (e *Encoder) ReadPassages(ctx context.Context, texts []Text) (vectors [][]float32, read []float64, err error) {
	rows, read, err := e.passageRows(ctx, texts, e)
	if err != nil {
		return nil, nil, err
	}
	vectors, err = e.encodePassages(ctx, rows)
	if err != nil {
		return nil, nil, err
	}
	for i, v := range vectors {
		vectors[i] = e.ownPart(v)
		if e.carried != nil || e.to > 0 {
			vectors[i] = slices.Clone(vectors[i]) // the other part's memory is not held
		}
		if e.Late() {
			e.hideUnread(vectors[i], rows[i], read[i])
		}
	}
	return vectors, read, nil
}

// ReadPassagesBoth returns the vectors of texts for this encoder and for the one that it carries, from one run, and
// the weight of each text, as ReadPassages does. The two vectors of a text share memory. It fails if it carries
// none.
func (e *Encoder) ReadPassagesBoth(
	ctx context.Context,
	texts []Text,
) (own, carried [][]float32, read []float64, err error) {
	if e.carried == nil {
		return nil, nil, nil, errors.New(e.Name() + " carries no other encoder")
	}
	rows, read, err := e.passageRows(ctx, texts, e, e.carried) // which has the same limit and vocabulary
	if err != nil {
		return nil, nil, nil, err
	}
	vectors, err := e.encodePassages(ctx, rows)
	for i, v := range vectors {
		own, carried = append(own, e.ownPart(v)), append(carried, e.carried.ownPart(v))
		if e.Late() {
			e.hideUnread(own[i], rows[i], read[i])
		}
	}
	return own, carried, read, err
}

// passageRows returns the tokens of texts and the weight of each (readableShare). It adds the texts that were cut
// and those that are hardly read to the counts of the encoders in counting. The error is ctx's or the tokenizer's.
func (e *Encoder) passageRows(
	ctx context.Context,
	texts []Text,
	counting ...*Encoder,
) (rows [][]int32, read []float64, err error) {
	rows, read = make([][]int32, len(texts)), make([]float64, len(texts))
	for i, text := range texts {
		if i%256 == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		var cut bool
		rows[i], cut, err = e.passageRow(text)
		if err != nil {
			return nil, nil, err
		}
		read[i] = e.readableShare(text, rows[i])
		for _, counts := range counting {
			if cut {
				counts.cut.Add(1)
			}
			if read[i] < 1 {
				counts.unread.Add(1)
			}
		}
	}
	return rows, read, nil
}

// encodePassages returns the model's vectors of tokenised passages. They have the parts of all encoders that share it
// (ownPart). It fails if the graph does, or ctx ends.
func (e *Encoder) encodePassages(ctx context.Context, rows [][]int32) ([][]float32, error) {
	vectors, err := e.model.batcher.Passages(ctx, rows)
	if err != nil {
		return nil, fmt.Errorf("encoding %d passages with %s: %w", len(rows), e.Name(), err)
	}
	return vectors, nil
}
