package main

import (
	"context"

	"conclave/collection"
	"conclave/corpus"
	"conclave/rank"
	"conclave/search"
)

// shelf shows a collection to the engine: collection's types as search's
// interfaces.
type shelf struct{ *collection.Collection }

func (s shelf) Acquire() search.View { return view{s.Collection.Acquire()} }

type view struct{ g *collection.Generation }

func (v view) Generation() uint64        { return v.g.Number() }
func (v view) Passages() search.Passages { return passages(v) }
func (v view) Words() search.WordIndex   { return wordIndex{v.g.Words()} }
func (v view) Release()                  { v.g.Release() }

func (v view) Vectors(expert string) (search.VectorIndex, bool) {
	index, ok := v.g.Expert(expert)
	return index, ok
}

func (v view) Among(ctx context.Context, f search.Filter) (search.Indexes, int, error) {
	s, err := v.g.Select(ctx, f.TagsAll, f.TagsAny)
	if err != nil {
		return nil, 0, err
	}
	return among{v.g, s}, s.Len(), nil
}

// among is the indexes of a generation, narrowed to a selection.
type among struct {
	g         *collection.Generation
	selection *collection.Selection
}

func (a among) Words() search.WordIndex { return wordIndex{a.g.Words().Among(a.selection)} }

func (a among) Vectors(expert string) (search.VectorIndex, bool) {
	index, ok := a.g.Expert(expert)
	if !ok {
		return nil, false
	}
	return index.Among(a.selection), true
}

type passages struct{ g *collection.Generation }

func (p passages) Len() int { return p.g.Len() }

func (p passages) Ordinals() int { return p.g.Ordinals() }

func (p passages) Passage(o rank.Ordinal) (corpus.Passage, error) { return p.g.Passage(o) }

func (p passages) Ordinal(id string) (rank.Ordinal, bool, error) { return p.g.Ordinal(id) }

type wordIndex struct{ index *collection.WordIndex }

func (w wordIndex) Search(ctx context.Context, question string, k int) ([]rank.Hit, error) {
	return w.index.Search(ctx, question, k)
}

func (w wordIndex) Scores(question string, ordinals []rank.Ordinal, out []float32) error {
	return w.index.Scores(question, ordinals, out)
}

func (w wordIndex) Ceiling(question string) (float64, error) { return w.index.Ceiling(question) }

func (w wordIndex) Explain(question string, ordinal rank.Ordinal) ([]search.TermScore, error) {
	explanation, err := w.index.Explain(question, ordinal)
	if err != nil {
		return nil, err
	}
	terms := make([]search.TermScore, len(explanation.Terms))
	for i, t := range explanation.Terms {
		terms[i] = search.TermScore{
			Term: t.Term, Frequency: t.TF, DocFrequency: t.DF,
			IDF: float64(t.IDF), Boost: float64(t.Count), Score: float64(t.Score),
		}
	}
	return terms, nil
}
