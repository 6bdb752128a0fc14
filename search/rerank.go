package search

import (
	"cmp"
	"context"
	"fmt"

	"example.org/conclave/internal/wording"
)

// RerankRequest asks how well texts answer a question.
type RerankRequest struct {
	Question string
	Texts    []string
}

// RerankResponse holds a score for each text, in their order: what late interaction
// would score it as a passage. It is at most 1 but for rounding, and can be below 0.
type RerankResponse struct {
	Expert    string
	Scores    []float32
	Truncated []int // the texts of which the expert reads only the beginning, by position
}

// Rerank scores texts, which need not be stored, by late interaction. It has
// Limits.Timeout, Limits.EmbedInputs texts of at most Limits.EmbedBytes each, and takes room
// for the vectors of their tokens (WithRoom); errors are *Error as for Search, with pointers
// to /question and /texts.
func (e *Engine) Rerank(ctx context.Context, r RerankRequest) (out RerankResponse, err error) {
	l, err := e.begin()
	if err != nil {
		return out, err
	}
	defer l.leave()
	var wrong problems
	if l.late == nil || l.late.Passages == nil || l.late.Similarity == nil {
		wrong.add("needs_experts", "", "texts are scored by late interaction, and this collection has no expert of that kind")
		return out, wrong.err()
	}
	wrong.text("/question", "question", "empty_question", r.Question, l.limits.QuestionBytes)
	wrong.texts("/texts", r.Texts, l.limits)
	if err := wrong.err(); err != nil {
		return out, err
	}
	x := l.late.Expert
	ctx, cancel := context.WithTimeout(ctx, l.limits.Timeout)
	defer cancel()
	room := 0
	for _, text := range r.Texts { // a vector for each token, of which there are fewer than bytes
		room += 4 * x.Info.Dimension * min(
			len(text)+specialTokens,
			cmp.Or(x.Info.MaxTokens[KindPassage], len(text)+specialTokens),
		)
	}
	if err := takeRoom(ctx, room); err != nil {
		return out, err
	}
	questions, err := embedQuestions(ctx, x, []string{r.Question}, checkTokens)
	if err != nil {
		return out, l.embedError(ctx, x, err)
	}
	vectors, err := embedPassages(ctx, x, r.Texts, checkTokens)
	if err != nil {
		return out, l.embedError(ctx, x, err)
	}
	out = RerankResponse{Expert: x.Name, Scores: make([]float32, len(vectors))}
	_, out.Truncated = x.countTokens(KindPassage, r.Texts)
	err = l.compute(ctx, func(context.Context) error {
		for i, v := range vectors {
			out.Scores[i], err = x.Similarity(questions[0], v)
			if err != nil {
				return fmt.Errorf("text %d: %w", i, err)
			}
		}
		return nil
	})
	if err != nil {
		return RerankResponse{}, l.embedError(ctx, x, err)
	}
	return out, nil
}

// specialTokens are at most added to a text.
const specialTokens = 4

// texts checks a list of texts to encode.
func (w *problems) texts(pointer string, texts []string, limits Limits) {
	switch n := len(texts); {
	case n == 0:
		w.add("out_of_range", pointer, "there are 0 texts: there have to be from 1 to %d", limits.EmbedInputs)
	case n > limits.EmbedInputs:
		w.add("too_many_inputs", pointer, "there are %d texts: there have to be from 1 to %d", n, limits.EmbedInputs)
	default:
		for i, text := range texts {
			if len(*w) > maxProblems {
				break
			}
			w.text(wording.Pointer(pointer, i), "text", "empty_text", text, limits.EmbedBytes)
		}
	}
}
