package lookup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
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
	// Truncated are the indexes of the texts of which the expert reads only the beginning.
	Truncated []int `json:"truncated,omitempty"`
	Tokens    int   `json:"-"` // the tokens that the expert read of all texts; 0: its encoder does not say
}

// embedParallel is the number of questions of one request that wait in the encoder's queue at once: enough for it to
// form batches, and not so many that others wait long.
const embedParallel = 32

// RerankRequest asks for scores of how well texts answer a question.
type RerankRequest struct {
	// Model is the name of a reranker or of the expert of late interaction. Any other name means the first reranker, or
	// late interaction if there is none.
	Model    string
	Question string
	Texts    []string
}

// RerankResponse has a score for each text, in their order: a reranker's logit, or the score of late interaction, which
// is at most 1 apart from rounding, and may be negative.
type RerankResponse struct {
	Expert    string // the name of the reranker or expert
	Logits    bool   // the scores are a reranker's
	Scores    []float32
	Truncated []int // the indexes of the texts of which the model reads only the beginning
}

// EncodeQuestions returns an expert's vector of each text as a question, after its head. It encodes embedParallel texts
// at a time. check gets each vector of the encoder and the expert's dimension. It returns the first error and ends the
// others. The order is that of texts; with an error some vectors are missing. It waits for all encodings that it
// started.
func EncodeQuestions(
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

// EncodePassages returns an expert's vector of each text as a passage without a title. check gets each vector and the
// expert's dimension. It fails if encoding or check does. With an error the vectors are of no use.
func EncodePassages(
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

// ModelError returns the error for users if a model could not encode the texts of a request because of err. who names
// the model. If the caller is gone, it wraps the context's error; otherwise it is a *fault.Error of kind Deadline,
// Overloaded or Unavailable.
func ModelError(ctx context.Context, who string, timeout time.Duration, err error) error {
	switch {
	case errors.Is(err, context.Canceled) && errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("the caller has gone: %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return &fault.Error{
			Kind:   fault.Deadline,
			Code:   "deadline",
			Detail: fmt.Sprintf("%s did not encode all texts in %v", who, timeout),
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

// NumberRoom is the memory in bytes that a number of a vector takes in a response: itself, and as JSON with a comma.
const NumberRoom = 4 + 13*answering.Copies

// TokenRoom is the greatest memory in bytes that a byte of a text takes as a token: the token's id, and its inputs of
// the model.
const TokenRoom = 4 + 3*8

// SpecialTokens is the greatest number of tokens that an encoder adds to a text.
const SpecialTokens = 4

// CheckTexts adds a problem to w for each fault of a list of texts to encode: there have to be from 1 to most texts,
// and none may be empty, invalid UTF-8 or longer than so many bytes. pointer is the list's JSON pointer in the request.
// It stops after fault.MaxProblems, and looks at no text if there are too many.
func CheckTexts(w *fault.Problems, pointer string, texts []string, most, bytes int) {
	switch n := len(texts); {
	case n == 0:
		w.Add("out_of_range", pointer, "there are 0 texts: there have to be from 1 to %d", most)
	case n > most:
		w.Add("too_many_inputs", pointer, "there are %d texts: there have to be from 1 to %d", n, most)
	default:
		for i, text := range texts {
			if len(*w) > fault.MaxProblems {
				break
			}
			w.Text(wording.Pointer(pointer, i), "text", "empty_text", text, bytes)
		}
	}
}
