package search

import (
	"cmp"
	"context"
	"fmt"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/lookup"
)

// Rerank returns scores of how well texts, which need not be stored, answer a question, by a reranker or by late
// interaction. It has Limits.Timeout and takes at most Limits.EmbedInputs texts of at most Limits.EmbedBytes each. It
// waits for memory (Caller.TakeRoom). It returns a *fault.Error of kind Invalid for an invalid request, or if there is
// neither; if the model fails, the error of lookup.ModelError.
func (e *Engine) Rerank(ctx context.Context, by Caller, r lookup.RerankRequest) (out lookup.RerankResponse, err error) {
	l, err := e.useLineUp()
	if err != nil {
		return out, err
	}
	defer l.panel.Users.Leave()
	var wrong fault.Problems
	reranker := l.rerankerFirst(r.Model)
	x := l.lateFirst(r.Model)
	if reranker == nil && (x == nil || x.Passages == nil || x.Similarity == nil) {
		wrong.Add("needs_experts", "", "texts are scored by a reranker or by late interaction, and there is neither")
		return out, wrong.Err()
	}
	wrong.Text("/question", "question", "empty_question", r.Question, l.limits.QuestionBytes)
	lookup.CheckTexts(&wrong, "/texts", r.Texts, l.limits.EmbedInputs, l.limits.EmbedBytes)
	if err := wrong.Err(); err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.limits.Timeout)
	defer cancel()
	if reranker != nil {
		return l.rerankBy(ctx, by, reranker, r)
	}
	room := 0
	for _, text := range r.Texts { // a vector for each token, of which there are fewer than bytes
		room += 4 * x.Info.Dimension * min(
			len(text)+lookup.SpecialTokens,
			cmp.Or(x.Info.MaxTokens[learned.KindPassage], len(text)+lookup.SpecialTokens),
		)
	}
	if err := by.takeRoom(ctx, room); err != nil {
		return out, err
	}
	questions, err := lookup.EncodeQuestions(ctx, x, []string{r.Question}, learned.CheckTokens)
	if err != nil {
		return out, l.embedError(ctx, x, err)
	}
	vectors, err := lookup.EncodePassages(ctx, x, r.Texts, learned.CheckTokens)
	if err != nil {
		return out, l.embedError(ctx, x, err)
	}
	out = lookup.RerankResponse{Expert: x.Name, Scores: make([]float32, len(vectors))}
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
		return lookup.RerankResponse{}, l.embedError(ctx, x, err)
	}
	return out, nil
}

// rerankerFirst returns the reranker that RerankRequest.Model stands for; nil: late interaction. It is the reranker
// with that name. For any other name it is the first reranker, unless there is late interaction and the name is that of
// late interaction or the first reranker is the one that is loaded by default (learned.RerankerInfo.Usual).
func (l *lineUp) rerankerFirst(name string) *learned.LoadedReranker {
	if x := l.rerankerNamed(name); x != nil {
		return x
	}
	if len(l.rerankers) == 0 || l.panel.LateNamed(name) != nil || len(l.panel.Late) > 0 && l.rerankers[0].Info.Usual {
		return nil
	}
	return &l.rerankers[0]
}

// lateFirst returns the expert of late interaction with a name, or else the first; nil if there is none.
func (l *lineUp) lateFirst(name string) *learned.Expert {
	if x := l.panel.LateNamed(name); x != nil || len(l.panel.Late) == 0 {
		return x
	}
	return l.panel.Late[0].Model
}

// rerankBy returns the response to a RerankRequest with the scores of a reranker. It waits for memory. It returns the
// error of takeRoom, or that of lookup.ModelError if the reranker fails, panics or scores another number of texts.
func (l *lineUp) rerankBy(
	ctx context.Context,
	by Caller,
	x *learned.LoadedReranker,
	r lookup.RerankRequest,
) (lookup.RerankResponse, error) {
	out := lookup.RerankResponse{Expert: x.Name, Logits: true}
	passages := make([]corpus.Passage, len(r.Texts))
	bytes := 0
	for i, text := range r.Texts {
		passages[i].Text = text
		bytes += len(r.Question) + len(text)
	}
	if err := by.takeRoom(ctx, lookup.TokenRoom*bytes); err != nil {
		return out, err
	}
	var judged []learned.Relevance
	err := run.Guard(func() (err error) {
		judged, err = x.Score(ctx, r.Question, passages)
		if err == nil && len(judged) != len(passages) {
			err = fmt.Errorf("the reranker scored %d texts of %d", len(judged), len(passages))
		}
		return err
	})
	if err != nil {
		return lookup.RerankResponse{}, lookup.ModelError(ctx, fmt.Sprintf("reranker %q", x.Name), l.limits.Timeout, err)
	}
	for i, s := range judged {
		out.Scores = append(out.Scores, float32(s.Score))
		if s.Cut {
			out.Truncated = append(out.Truncated, i)
		}
	}
	return out, nil
}
