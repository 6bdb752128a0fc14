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

// Words returns the BM25 index of single words.
func (g *Generation) Words() *WordIndex { return &WordIndex{g.words, g, g.everything} }

// Phrases returns the BM25 index of phrases, the pairs of adjacent terms (bm25.Searcher.Phrases); nil if the collection
// was built without them.
func (g *Generation) Phrases() *WordIndex {
	if g.phrases == nil {
		return nil
	}
	return &WordIndex{g.phrases, g, g.everything}
}

// Among returns the same index, of which Search finds only the passages of a selection. Scores stay the same: the
// statistics are those of all passages.
func (w *WordIndex) Among(s *Selection) *WordIndex {
	return &WordIndex{w.Searcher, w.generation, s}
}

// Search returns the k passages with the highest BM25 scores, the best first, and equal ones by id. A passage without a
// term of the question is no hit. The division into segments does not change the result. It fails if the index is
// damaged or ctx ends.
func (w *WordIndex) Search(ctx context.Context, question string, k int) ([]rank.Hit, error) {
	if err := w.among.checkGeneration(w.generation); err != nil {
		return nil, err
	}
	return w.Searcher.Search(ctx, question, k, w.among.segmentBits())
}
