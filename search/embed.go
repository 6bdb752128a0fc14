package search

import (
	"context"
	"fmt"

	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/reply"
)

// Embed returns an expert's vectors of texts, in their order, as questions (after its head) or as passages without a
// title, with their numbers of tokens. It has Limits.Timeout and waits for memory (Caller.TakeRoom). It fails with a
// *fault.Error: of kind Invalid for a request that is wrong, also one for a sparse or late expert, of kind Deadline or
// Overloaded if the expert does not answer in time, and of kind Unavailable if it fails or the engine is closed. If the
// caller is gone, the error is the context's.
func (e *Engine) Embed(ctx context.Context, by Caller, r lookup.EmbedRequest) (lookup.EmbedResponse, error) {
	l, err := e.useLineUp()
	if err != nil {
		return lookup.EmbedResponse{}, err
	}
	defer l.panel.Users.Leave()
	var wrong fault.Problems
	i := l.expertIndex(r.Expert)
	if l.panel.LateNamed(r.Expert) != nil {
		wrong.Add(
			"unknown_expert", "/expert",
			"expert %s gives every token a vector, and none to a text: it cannot be asked for one",
			wording.Quote(r.Expert),
		)
		return lookup.EmbedResponse{}, wrong.Err()
	}
	if i < 0 {
		wrong.Add("unknown_expert", "/expert", "there is no expert %s: %s", wording.Quote(r.Expert), l.knownExperts())
		return lookup.EmbedResponse{}, wrong.Err()
	}
	x := l.panel.Experts[i].Model
	if x.Info.Kind == reply.KindSparse {
		wrong.Add(
			"unknown_expert", "/expert",
			"expert %s weighs word pieces, and gives no vector to a text: it cannot be asked for one",
			wording.Quote(r.Expert),
		)
		return lookup.EmbedResponse{}, wrong.Err()
	}
	kind := fault.OneOf(&wrong, "/kind", r.Kind, learned.KindQuestion, []string{learned.KindQuestion, learned.KindPassage})
	lookup.CheckTexts(&wrong, "/input", r.Input, l.limits.EmbedInputs, l.limits.EmbedBytes)
	if kind == learned.KindPassage && x.Passages == nil {
		wrong.Add(
			"no_passage_encoder", "/kind", "expert %q has no passage encoder here: only questions can be embedded",
			x.Name,
		)
	}
	if err := wrong.Err(); err != nil {
		return lookup.EmbedResponse{}, err
	}

	ctx, cancel := context.WithTimeout(ctx, l.limits.Timeout)
	defer cancel()
	if err := by.takeRoom(ctx, len(r.Input)*x.Info.Dimension*lookup.NumberRoom); err != nil {
		return lookup.EmbedResponse{}, err
	}
	var vectors [][]float32
	if kind == learned.KindPassage {
		vectors, err = lookup.EncodePassages(ctx, x, r.Input, learned.CheckVector)
	} else {
		vectors, err = lookup.EncodeQuestions(ctx, x, r.Input, learned.CheckVector)
	}
	if err != nil {
		return lookup.EmbedResponse{}, l.embedError(ctx, x, err)
	}
	out := lookup.EmbedResponse{Expert: x.Name, Dimension: len(vectors[0]), Embeddings: vectors}
	out.Tokens, out.Truncated = x.CountTokens(kind, r.Input)
	return out, nil
}

// embedError returns the error for users if expert x could not encode texts because of err (lookup.ModelError).
func (l *lineUp) embedError(ctx context.Context, x *learned.Expert, err error) error {
	return lookup.ModelError(ctx, fmt.Sprintf("expert %q", x.Name), l.limits.Timeout, err)
}
