package collection

import (
	"context"

	"conclave/bm25"
	"conclave/rank"
)

// WordIndex is BM25 over all segments, with the statistics of the whole
// collection.
type WordIndex struct {
	generation *Generation
	searcher   *bm25.Searcher
	among      *Selection
}

// Words is the word index.
func (g *Generation) Words() *WordIndex { return &WordIndex{g, g.words, g.everything} }

// Phrases is the word index read as its phrases, the pairs of adjacent terms
// (see bm25.Searcher.Phrases); nil when the collection was built without them.
func (g *Generation) Phrases() *WordIndex {
	if g.phrases == nil {
		return nil
	}
	return &WordIndex{g, g.phrases, g.everything}
}

// Among is the same index, which finds the passages of a selection alone. Their
// scores are what they are without it: the statistics are of all passages.
func (w *WordIndex) Among(s *Selection) *WordIndex {
	return &WordIndex{w.generation, w.searcher, s}
}

// Search finds the k passages with the highest BM25 scores, best first, and
// equal ones by passage id. Passages without a term of the question are not
// hits. The result does not depend on how the passages are divided into
// segments.
func (w *WordIndex) Search(ctx context.Context, question string, k int) ([]rank.Hit, error) {
	if err := w.among.of(w.generation); err != nil {
		return nil, err
	}
	hits, _, err := w.searcher.SearchAmong(ctx, question, k, w.among.lists())
	return hits, err
}

// Scores writes the scores of the given passages to out, which is as long: 0
// where no term of the question matches.
func (w *WordIndex) Scores(question string, ordinals []rank.Ordinal, out []float32) error {
	return w.searcher.Scores(question, ordinals, out)
}

// Ceiling is what no passage's score for the question reaches (bm25.Searcher).
func (w *WordIndex) Ceiling(question string) (float64, error) {
	return w.searcher.Ceiling(question)
}

// Explain gives the terms of the sum that a passage's score is.
func (w *WordIndex) Explain(question string, ordinal rank.Ordinal) (bm25.Explanation, error) {
	return w.searcher.Explain(question, ordinal)
}
