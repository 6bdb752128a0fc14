package collection

import (
	"context"

	"conclave/bm25"
	"conclave/rank"
)

// WordIndex is BM25 over all segments, with the statistics of the whole
// collection.
type WordIndex struct{ generation *Generation }

// Words is the word index.
func (g *Generation) Words() *WordIndex { return &WordIndex{g} }

// Search finds the k passages with the highest BM25 scores, best first, and
// equal ones by passage id. Passages without a term of the question are not
// hits. The result does not depend on how the passages are divided into
// segments.
func (w *WordIndex) Search(ctx context.Context, question string, k int) ([]rank.Hit, error) {
	g := w.generation
	if len(g.segments) <= 1 || k < 1 {
		return g.words.Search(ctx, question, k)
	}
	// The searcher breaks ties by ordinal, so of passages that tie with the
	// k-th it may keep those of an earlier segment where a later one has lower
	// ids. More hits are asked for until all that tie are there; most questions
	// have no tie at the edge and are asked once.
	for ask := k + 1; ; ask *= 4 {
		ask = min(ask, g.total)
		hits, err := g.words.Search(ctx, question, ask)
		if err != nil {
			return nil, err
		}
		if len(hits) < ask || ask == g.total || hits[len(hits)-1].Score < hits[k-1].Score {
			if err := g.sortTies(hits, k); err != nil {
				return nil, err
			}
			return hits[:min(k, len(hits))], nil
		}
	}
}

// Scores writes the scores of the given passages to out, which is as long: 0
// where no term of the question matches.
func (w *WordIndex) Scores(question string, ordinals []rank.Ordinal, out []float32) error {
	return w.generation.words.Scores(question, ordinals, out)
}

// Explain gives the terms of the sum that a passage's score is.
func (w *WordIndex) Explain(question string, ordinal rank.Ordinal) (bm25.Explanation, error) {
	return w.generation.words.Explain(question, ordinal)
}

// Statistics are those of the whole collection.
func (w *WordIndex) Statistics() bm25.Statistics { return w.generation.words.Statistics() }
