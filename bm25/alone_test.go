package bm25

import (
	"context"

	"example.org/conclave/internal/rank"
)

// alone searches a segment as a whole collection.
func (x *Index) alone() *Searcher {
	s, err := NewSearcher(Segment{Index: x})
	if err != nil {
		panic(err) // one segment does not contradict itself
	}
	return s
}

// What a Searcher can do, of a segment as a whole collection.

func (x *Index) Search(ctx context.Context, question string, k int) ([]rank.Hit, error) {
	return x.alone().Search(ctx, question, k, nil)
}

func (x *Index) Scores(question string, ordinals []rank.Ordinal, out []float32) error {
	return x.alone().Scores(question, ordinals, out)
}

func (x *Index) Explain(question string, ordinal rank.Ordinal) ([]TermScore, error) {
	return x.alone().Explain(question, ordinal)
}

func (x *Index) Phrases() *Searcher { return x.alone().Phrases() }
