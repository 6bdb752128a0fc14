package search

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/lookup"
)

// EncodePassages encodes a passage as a vector for each of its words.
func (w *wordwise) EncodePassages(ctx context.Context, passages []corpus.Passage) (out [][]float32, err error) {
	for _, p := range passages {
		vectors, err := w.EncodeQuestion(ctx, p.Text)
		if err != nil {
			return nil, err
		}
		out = append(out, vectors)
	}
	return out, nil
}

// TestRerank: texts get the similarities of their tokens' vectors with the question's,
// in the order of the texts.
func TestRerank(t *testing.T) {
	s, _, encoder := lateStage()
	s.config.Late[0].Passages = encoder
	s.config.Late[0].Similarity = func(question, passage []float32) (sum float32, err error) {
		for q := range slices.Chunk(question, dimension) {
			best := product(q, passage[:dimension])
			for p := range slices.Chunk(passage, dimension) {
				best = max(best, product(q, p))
			}
			sum += best
		}
		return sum, nil
	}
	e := s.engine(t)
	texts := []string{"red green", "blue", "red"}
	got, err := e.Rerank(t.Context(), Caller{}, lookup.RerankRequest{Question: "red blue", Texts: texts})
	if err != nil || len(got.Scores) != 3 || got.Expert != "tokens" {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, text := range texts {
		sum := float32(0)
		for _, q := range []string{"red", "blue"} {
			best := product(draw(77, q), draw(77, strings.Fields(text)[0]))
			for _, word := range strings.Fields(text) {
				best = max(best, product(draw(77, q), draw(77, word)))
			}
			sum += best
		}
		if got.Scores[i] != sum {
			t.Errorf("%s: %v, want %v", text, got.Scores[i], sum)
		}
	}
	for code, r := range map[string]lookup.RerankRequest{
		"empty_question":  {Question: " ", Texts: texts},
		"out_of_range":    {Question: "red"},
		"too_many_inputs": {Question: "red", Texts: make([]string, 257)},
		"empty_text":      {Question: "red", Texts: []string{"red", ""}},
		"too_long":        {Question: "red", Texts: []string{strings.Repeat("x", 65<<10)}},
	} {
		var wrong *fault.Error
		if _, err := e.Rerank(t.Context(), Caller{}, r); !errors.As(err, &wrong) || wrong.Code != code {
			t.Errorf("%s: %v", code, err)
		}
	}
	encoder.hook = func() error { return errors.New("as asked") }
	if _, err := e.Rerank(t.Context(), Caller{}, lookup.RerankRequest{Question: "red", Texts: texts}); kindOf(
		err,
	) != fault.Unavailable {
		t.Errorf("an encoder that fails: %v", err)
	}
	s.config.Late = nil
	_, err = s.engine(t).Rerank(t.Context(), Caller{}, lookup.RerankRequest{Question: "red", Texts: texts})
	if kindOf(err) != fault.Invalid ||
		!strings.Contains(err.Error(), "late interaction") {
		t.Errorf("without late interaction: %v", err)
	}
}
