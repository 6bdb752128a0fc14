package encoder

import (
	"context"
	"errors"
	"fmt"
	"math"

	"conclave/encoder/batcher"
)

// A late expert that leaves its base's layers as they are computes, on the way
// to its tokens' vectors, all that the base's own vector is made of, and its
// graph gives that too (models.Graph.Pooled). So the two need one run for a text
// and not two: what the late expert's queue gives for a text is then the base's
// vector and, behind it, its own.

// sharedWithin is how far the vectors of two graphs may be apart, in every
// component, to be the same: as far as those of two batches.
const sharedWithin = 1e-5

// sharedTexts are tried before two encoders share their runs.
var sharedTexts = []string{"", "what does an expert know?", "The river rose in the night; by morning the mill stood in two feet of water."}

// Share lets e take its vectors from late's runs from now on, and reports true,
// where they are the same: both were opened with the same options and read texts
// alike, and late's graph gives beside
// its tokens' vectors, for texts that are tried, those of e's own. A question
// that both are asked at once is then encoded once, and e's graph leaves the
// memory. It is to be called before either is used; late stays as it is for
// those who use it alone, and what both need is freed when both are closed.
func (e *Encoder) Share(late *Encoder) (bool, error) {
	if !e.readsLike(late) {
		return false, nil
	}
	same, err := e.agrees(late)
	if err != nil || !same {
		return false, err
	}
	late.carries = e.Dimension()
	late.batcher.Close()
	late.batcher = late.newBatcher()
	late.users.Add(1)
	e.from = late
	e.batcher.Close()
	err = e.question.close()
	e.batcher, e.question, e.passage = nil, nil, nil
	return true, err
}

// readsLike reports whether late's runs could serve e by what is known of them.
func (e *Encoder) readsLike(late *Encoder) bool {
	own, other := &e.bundle.Manifest, &late.bundle.Manifest
	return !e.Late() && late.Late() && e.from == nil && late.carries == 0 &&
		e.question == e.passage && late.question == late.passage && !e.question.oneByOne && !late.question.oneByOne &&
		late.question.pooled == e.Dimension() && e.tokenizer == late.tokenizer && e.provider == late.provider && e.options == late.options &&
		own.MaxTokens == other.MaxTokens && own.Template == other.Template
}

// agrees tries both graphs on a few texts.
func (e *Encoder) agrees(late *Encoder) (bool, error) {
	var rows [][]int32
	for _, text := range sharedTexts {
		ids, err := e.tokenizer.Encode(text, e.bundle.Manifest.MaxTokens.Question)
		if err != nil {
			return false, err
		}
		rows = append(rows, ids)
	}
	own, err := e.question.encode(context.Background(), rows)
	if err != nil {
		return false, err
	}
	_, beside, err := late.question.encodeBoth(context.Background(), rows)
	if err != nil {
		return false, err
	}
	for i := range own {
		for j, x := range own[i] {
			if math.Abs(float64(x)-float64(beside[i][j])) > sharedWithin {
				return false, nil
			}
		}
	}
	return true, nil
}

// Carries reports whether another encoder Shares this one's runs.
func (e *Encoder) Carries() bool { return e.carries > 0 }

// EncodePassagesBoth is EncodePassages of an encoder that Carries another, and
// of that other, in one run.
func (e *Encoder) EncodePassagesBoth(ctx context.Context, texts []Text) (own, carried [][]float32, err error) {
	if e.carries == 0 {
		return nil, nil, errors.New(e.Name() + " carries no other encoder")
	}
	vectors, err := e.encodePassages(ctx, texts)
	if err != nil {
		return nil, nil, fmt.Errorf("both vectors: %w", err)
	}
	for _, v := range vectors {
		own, carried = append(own, v[e.carries:]), append(carried, v[:e.carries:e.carries])
	}
	return own, carried, nil
}

// runs is the queue that gives the vectors.
func (e *Encoder) runs() *batcher.Batcher {
	if e.from != nil {
		return e.from.batcher
	}
	return e.batcher
}

// own is the part of what the runs give for a text that is e's.
func (e *Encoder) own(vector []float32) []float32 {
	if e.from != nil {
		return vector[:e.from.carries:e.from.carries]
	}
	return vector[e.carries:]
}
