package collection

import (
	"context"
	"fmt"

	"conclave/bm25"
	"conclave/rank"
)

// WordIndex is BM25 over all segments, with the statistics of the whole
// collection.
type WordIndex struct {
	generation *Generation
	among      *Selection
}

// Words is the word index.
func (g *Generation) Words() *WordIndex { return &WordIndex{g, g.everything} }

// Among is the same index, which finds the passages of a selection alone. Their
// scores are what they are without it: the statistics are of all passages.
func (w *WordIndex) Among(s *Selection) *WordIndex { return &WordIndex{w.generation, s} }

// Search finds the k passages with the highest BM25 scores, best first, and
// equal ones by passage id. Passages without a term of the question are not
// hits. The result does not depend on how the passages are divided into
// segments.
func (w *WordIndex) Search(ctx context.Context, question string, k int) ([]rank.Hit, error) {
	g := w.generation
	if err := w.among.of(g); err != nil {
		return nil, err
	}
	before := g.misread.Load()
	hits, _, err := g.words.SearchAmong(ctx, question, k, w.among.lists())
	if err != nil {
		return nil, err
	}
	if after := g.misread.Load(); after != before {
		return nil, fmt.Errorf("ordering passages with equal scores: %w", *after)
	}
	return hits, nil
}

// Scores writes the scores of the given passages to out, which is as long: 0
// where no term of the question matches.
func (w *WordIndex) Scores(question string, ordinals []rank.Ordinal, out []float32) error {
	return w.generation.words.Scores(question, ordinals, out)
}

// Ceiling is what no passage's score for the question reaches (bm25.Searcher).
func (w *WordIndex) Ceiling(question string) (float64, error) {
	return w.generation.words.Ceiling(question)
}

// Explain gives the terms of the sum that a passage's score is.
func (w *WordIndex) Explain(question string, ordinal rank.Ordinal) (bm25.Explanation, error) {
	return w.generation.words.Explain(question, ordinal)
}

// Statistics are those of the whole collection.
func (w *WordIndex) Statistics() bm25.Statistics { return w.generation.words.Statistics() }
