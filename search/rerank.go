package search

import (
	"cmp"
	"context"
	"fmt"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
)

// RerankRequest asks how well texts answer a question.
type RerankRequest struct {
	// Model is the name of a reranker or of the expert of late interaction. Any other name
	// stands for the first reranker, or for late interaction where there is none.
	Model    string
	Question string
	Texts    []string
}

// RerankResponse holds a score for each text, in their order: a reranker's logit, or what late
// interaction would score it as a passage, which is at most 1 but for rounding, and can be below 0.
type RerankResponse struct {
	Expert    string // or reranker
	Logits    bool   // the scores are a reranker's
	Scores    []float32
	Truncated []int // the texts of which the expert reads only the beginning, by position
}

// Rerank scores texts, which need not be stored, by a reranker or by late interaction. It has
// Limits.Timeout, Limits.EmbedInputs texts of at most Limits.EmbedBytes each, and takes room
// for the vectors of their tokens (Caller.TakeRoom); errors are *Error as for Search, with pointers
// to /question and /texts.
func (e *Engine) Rerank(ctx context.Context, by Caller, r RerankRequest) (out RerankResponse, err error) {
	l, err := e.begin()
	if err != nil {
		return out, err
	}
	defer l.panel.Users.Leave()
	var wrong fault.Problems
	reranker := l.rerankerFirst(r.Model)
	if reranker == nil &&
		(l.panel.Late == nil || l.panel.Late.Model.Passages == nil || l.panel.Late.Model.Similarity == nil) {
		wrong.Add("needs_experts", "", "texts are scored by a reranker or by late interaction, and there is neither")
		return out, wrong.Err()
	}
	wrong.Text("/question", "question", "empty_question", r.Question, l.limits.QuestionBytes)
	checkTexts(&wrong, "/texts", r.Texts, l.limits)
	if err := wrong.Err(); err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.limits.Timeout)
	defer cancel()
	if reranker != nil {
		return l.rerankBy(ctx, by, reranker, r)
	}
	x := l.panel.Late.Model
	room := 0
	for _, text := range r.Texts { // a vector for each token, of which there are fewer than bytes
		room += 4 * x.Info.Dimension * min(
			len(text)+specialTokens,
			cmp.Or(x.Info.MaxTokens[learned.KindPassage], len(text)+specialTokens),
		)
	}
	if err := by.takeRoom(ctx, room); err != nil {
		return out, err
	}
	questions, err := embedQuestions(ctx, x, []string{r.Question}, learned.CheckTokens)
	if err != nil {
		return out, l.embedError(ctx, x, err)
	}
	vectors, err := embedPassages(ctx, x, r.Texts, learned.CheckTokens)
	if err != nil {
		return out, l.embedError(ctx, x, err)
	}
	out = RerankResponse{Expert: x.Name, Scores: make([]float32, len(vectors))}
	_, out.Truncated = x.CountTokens(learned.KindPassage, r.Texts)
	err = l.panel.Run.Compute(ctx, func(context.Context) error {
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

// rerankerFirst returns the reranker that a name stands for in a RerankRequest; nil: late
// interaction.
func (l *lineUp) rerankerFirst(name string) *learned.LoadedReranker {
	if x := l.rerankerNamed(name); x != nil {
		return x
	}
	if len(l.rerankers) == 0 || l.panel.Late != nil && name == l.panel.Late.Name() {
		return nil
	}
	return &l.rerankers[0]
}

// rerankBy scores texts by a reranker.
func (l *lineUp) rerankBy(
	ctx context.Context,
	by Caller,
	x *learned.LoadedReranker,
	r RerankRequest,
) (RerankResponse, error) {
	out := RerankResponse{Expert: x.Name, Logits: true}
	passages := make([]corpus.Passage, len(r.Texts))
	bytes := 0
	for i, text := range r.Texts {
		passages[i].Text = text
		bytes += len(r.Question) + len(text)
	}
	if err := by.takeRoom(ctx, tokenRoom*bytes); err != nil {
		return out, err
	}
	var said []learned.Relevance
	err := run.Guard(func() (err error) {
		said, err = x.Score(ctx, r.Question, passages)
		if err == nil && len(said) != len(passages) {
			err = fmt.Errorf("the reranker scored %d texts of %d", len(said), len(passages))
		}
		return err
	})
	if err != nil {
		return RerankResponse{}, l.modelError(ctx, fmt.Sprintf("reranker %q", x.Name), err)
	}
	for i, s := range said {
		out.Scores = append(out.Scores, float32(s.Score))
		if s.Cut {
			out.Truncated = append(out.Truncated, i)
		}
	}
	return out, nil
}

// tokenRoom is what a byte of a text takes at most as a token: its id, and what goes into the
// graph.
const tokenRoom = 4 + 3*8

// specialTokens are at most added to a text.
const specialTokens = 4

// checkTexts checks a list of texts to encode.
func checkTexts(w *fault.Problems, pointer string, texts []string, limits Limits) {
	switch n := len(texts); {
	case n == 0:
		w.Add("out_of_range", pointer, "there are 0 texts: there have to be from 1 to %d", limits.EmbedInputs)
	case n > limits.EmbedInputs:
		w.Add("too_many_inputs", pointer, "there are %d texts: there have to be from 1 to %d", n, limits.EmbedInputs)
	default:
		for i, text := range texts {
			if len(*w) > fault.MaxProblems {
				break
			}
			w.Text(wording.Pointer(pointer, i), "text", "empty_text", text, limits.EmbedBytes)
		}
	}
}
