package bm25

import "conclave/rank"

// What a Searcher can do, of a segment as a whole collection.

func (x *Index) Scores(question string, ordinals []rank.Ordinal, out []float32) error {
	return x.alone.Scores(question, ordinals, out)
}

func (x *Index) Explain(question string, ordinal rank.Ordinal) (Explanation, error) {
	return x.alone.Explain(question, ordinal)
}

func (x *Index) Phrases() *Searcher { return x.alone.Phrases() }
