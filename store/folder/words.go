package folder

import (
	"context"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/rank"
)

// WordIndex is BM25 over all segments, with the statistics of the whole
// collection.
type WordIndex struct {
	*bm25.Searcher // of all segments
	generation     *Generation
	among          *Selection
}

// Words returns the word index.
func (g *Generation) Words() *WordIndex { return &WordIndex{g.words, g, g.everything} }

// Phrases returns the word index read as its phrases, the pairs of adjacent terms
// (see bm25.Searcher.Phrases); nil when the collection was built without them.
func (g *Generation) Phrases() *WordIndex {
	if g.phrases == nil {
		return nil
	}
	return &WordIndex{g.phrases, g, g.everything}
}

// Among returns the same index, which finds the passages of a selection alone. Their
// scores are what they are without it: the statistics are of all passages.
func (w *WordIndex) Among(s *Selection) *WordIndex {
	return &WordIndex{w.Searcher, w.generation, s}
}

// Search finds the k passages with the highest BM25 scores, best first, and
// equal ones by passage id. Passages without a term of the question are not
// hits. The result does not depend on how the passages are divided into
// segments.
func (w *WordIndex) Search(ctx context.Context, question string, k int) ([]rank.Hit, error) {
	if err := w.among.checkGeneration(w.generation); err != nil {
		return nil, err
	}
	return w.Searcher.Search(ctx, question, k, w.among.lists())
}
