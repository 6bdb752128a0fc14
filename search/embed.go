package search

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// EmbedRequest asks for the vectors of texts.
type EmbedRequest struct {
	Expert string   `json:"expert"`
	Input  []string `json:"input"`
	Kind   string   `json:"kind,omitempty"` // "question" (the default) or "passage"
}

// EmbedResponse holds a vector for each text.
type EmbedResponse struct {
	Expert     string      `json:"expert"`
	Dimension  int         `json:"dimension"`
	Embeddings [][]float32 `json:"embeddings"`
	// the texts of which the expert reads only the beginning, by position
	Truncated []int `json:"truncated,omitempty"`
	Tokens    int   `json:"-"` // that the expert read of all texts; 0: its encoder does not say
}

// embedParallel is how many questions of one Embed wait in the encoder's queue
// at once: enough for it to form batches, not enough to crowd others out.
const embedParallel = 32

// Embed returns an expert's vectors of questions or of passages (untitled).
// It has Limits.Timeout, and takes room before it encodes (Caller.TakeRoom); errors are *Error as
// for Search.
func (e *Engine) Embed(ctx context.Context, by Caller, r EmbedRequest) (EmbedResponse, error) {
	l, err := e.begin()
	if err != nil {
		return EmbedResponse{}, err
	}
	defer l.panel.Users.Leave()
	var wrong fault.Problems
	i := l.numberOf(r.Expert)
	if l.panel.Late != nil && r.Expert == l.panel.Late.Name() {
		wrong.Add(
			"unknown_expert",
			"/expert",
			"expert %s gives every token a vector, and none to a text: it cannot be asked for one",
			wording.Quote(r.Expert),
		)
		return EmbedResponse{}, wrong.Err()
	}
	if i < 0 {
		wrong.Add("unknown_expert", "/expert", "there is no expert %s: %s", wording.Quote(r.Expert), l.knownExperts())
		return EmbedResponse{}, wrong.Err()
	}
	x := l.panel.Experts[i].Model
	if x.Info.Kind == reply.KindSparse {
		wrong.Add(
			"unknown_expert",
			"/expert",
			"expert %s weighs word pieces, and gives no vector to a text: it cannot be asked for one",
			wording.Quote(r.Expert),
		)
		return EmbedResponse{}, wrong.Err()
	}
	kind := fault.OneOf(&wrong, "/kind", r.Kind, learned.KindQuestion, []string{learned.KindQuestion, learned.KindPassage})
	checkTexts(&wrong, "/input", r.Input, l.limits)
	if kind == learned.KindPassage && x.Passages == nil {
		wrong.Add(
			"no_passage_encoder",
			"/kind",
			"expert %q has no passage encoder here: only questions can be embedded",
			x.Name,
		)
	}
	if err := wrong.Err(); err != nil {
		return EmbedResponse{}, err
	}

	ctx, cancel := context.WithTimeout(ctx, l.limits.Timeout)
	defer cancel()
	if err := by.takeRoom(ctx, len(r.Input)*x.Info.Dimension*numberRoom); err != nil {
		return EmbedResponse{}, err
	}
	var vectors [][]float32
	if kind == learned.KindPassage {
		vectors, err = embedPassages(ctx, x, r.Input, learned.CheckVector)
	} else {
		vectors, err = embedQuestions(ctx, x, r.Input, learned.CheckVector)
	}
	if err != nil {
		return EmbedResponse{}, l.embedError(ctx, x, err)
	}
	out := EmbedResponse{Expert: x.Name, Dimension: len(vectors[0]), Embeddings: vectors}
	out.Tokens, out.Truncated = x.CountTokens(kind, r.Input)
	return out, nil
}

func embedQuestions(
	ctx context.Context,
	x *learned.Expert,
	texts []string,
	check func([]float32, int) error,
) ([][]float32, error) {
	group, ctx := errgroup.WithContext(ctx) // the first error stops the rest
	group.SetLimit(embedParallel)
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		group.Go(func() error {
			err := run.Guard(func() (err error) {
				vectors[i], err = x.Encoder.EncodeQuestion(ctx, text)
				if err != nil {
					return err
				}
				err = check(vectors[i], x.Info.Dimension)
				if err == nil {
					vectors[i], _, err = x.ApplyHead(ctx, vectors[i])
				}
				return err
			})
			if err != nil {
				return fmt.Errorf("text %d: %w", i, err)
			}
			return nil
		})
	}
	return vectors, group.Wait()
}

func embedPassages(
	ctx context.Context,
	x *learned.Expert,
	texts []string,
	check func([]float32, int) error,
) (vectors [][]float32, err error) {
	passages := make([]corpus.Passage, len(texts))
	for i, text := range texts {
		passages[i].Text = text
	}
	err = run.Guard(func() (err error) {
		vectors, err = x.Passages.EncodePassages(ctx, passages)
		if err != nil {
			return err
		}
		if len(vectors) != len(texts) {
			return fmt.Errorf("the encoder gave %d vectors for %d texts", len(vectors), len(texts))
		}
		for i, v := range vectors {
			if err := check(v, x.Info.Dimension); err != nil {
				return fmt.Errorf("text %d: %w", i, err)
			}
		}
		return nil
	})
	return vectors, err
}

func (l *lineUp) embedError(ctx context.Context, x *learned.Expert, err error) error {
	return l.modelError(ctx, fmt.Sprintf("expert %q", x.Name), err)
}

// modelError returns the error of a request whose texts a model could not encode; who names it.
func (l *lineUp) modelError(ctx context.Context, who string, err error) error {
	switch {
	case errors.Is(err, context.Canceled) && errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("the caller has gone: %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return &fault.Error{
			Kind:   fault.Deadline,
			Code:   "deadline",
			Detail: fmt.Sprintf("%s did not encode all texts in %v", who, l.limits.Timeout),
			Err:    err,
		}
	case run.Overloaded(err):
		return &fault.Error{
			Kind:   fault.Overloaded,
			Code:   "overloaded",
			Detail: fmt.Sprintf("the queue of %s is full; try again in a moment, or with fewer texts", who),
			Err:    err,
		}
	}
	return &fault.Error{
		Kind:   fault.Unavailable,
		Code:   "unavailable",
		Detail: who + " failed; the server's log says why",
		Err:    err,
	}
}
