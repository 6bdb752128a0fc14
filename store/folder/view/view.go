// Package view adapts a collection to the search engine: it implements the interfaces
// of package storage with the types of package folder. Neither imports the other.
package view

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
	"example.org/conclave/store/folder"
)

// Corpus is a collection as the engine's corpus.
type Corpus struct{ collection *folder.Collection }

// Of returns a collection as the engine's corpus. The collection has to stay open for as long as the Corpus and its
// views are used.
func Of(c *folder.Collection) Corpus { return Corpus{c} }

// Acquire pins the newest loaded generation and returns it. It stays readable until Release of the view. It panics if
// the collection is closed.
func (c Corpus) Acquire() storage.View { return pinnedView{c.collection.Acquire()} }

// pinnedView is a pinned generation as a storage.View.
type pinnedView struct{ generation *folder.Generation }

// Generation returns the number of the generation; it grows with each that is published.
func (v pinnedView) Generation() uint64 { return v.generation.Number() }

// Passages returns the texts of the generation.
func (v pinnedView) Passages() storage.Passages { return passages{v.generation} }

// Words returns the index of single words, for BM25.
func (v pinnedView) Words() storage.WordIndex { return words{v.generation.Words()} }

// Release ends the view. Nothing of it may be used afterwards.
func (v pinnedView) Release() { v.generation.Release() }

// Phrases returns the index of the generation's phrases; nil if the collection has none.
func (v pinnedView) Phrases() storage.WordIndex { return phrases(v.generation.Phrases(), nil) }

// Vectors returns the index of an expert's vectors; false if the generation has none of this name.
func (v pinnedView) Vectors(expert string) (storage.VectorIndex, bool) {
	index, ok := v.generation.Expert(expert)
	if !ok {
		return nil, false
	}
	return shown(index), true
}

// Index describes the vector index of an expert, with its measured recall; false if the generation has no such expert.
func (v pinnedView) Index(expert string) (storage.IndexInfo, bool) {
	for _, f := range v.generation.Experts() {
		if f.Name == expert {
			return storage.IndexInfo{
				Kind:     f.Index.Kind,
				Passages: f.Passages,
				Rows:     f.Rows,
				Parts:    f.Parts,
				Owner:    f.Owner,
				Warnings: f.Warnings(),
				Recall:   map[string]float64{"recall@10": f.Recall.Stored.At10, "recall@100": f.Recall.Stored.At100},
			}, true
		}
	}
	return storage.IndexInfo{}, false
}

// Among returns the indexes narrowed to the passages that f selects, and a function that counts these. It returns a
// *conditions.MisfitError if f does not fit the types of the fields.
func (v pinnedView) Among(
	ctx context.Context,
	f storage.Filter,
) (storage.Indexes, func(context.Context) (int, error), error) {
	return amongIn(v.generation, f, nil)
}

// amongIn returns the indexes of a generation narrowed to the passages that f selects, and a function that counts
// these. names are those of the collections of a joined generation; nil: it is of one. It returns a
// *conditions.MisfitError if f does not fit the types of the fields.
func amongIn(
	g *folder.Generation, f storage.Filter, names []string,
) (storage.Indexes, func(context.Context) (int, error), error) {
	s, err := selectedIn(g, f, names)
	if err != nil {
		return nil, nil, err
	}
	return among{g, s}, func(context.Context) (int, error) { return s.Len(), nil }, nil
}

// Prefetch does nothing: the indexes are in memory. Its results are always nil.
func (v pinnedView) Prefetch(context.Context, []rank.Ordinal) ([]rank.Ordinal, error) {
	return nil, nil
}

// Contains reports of each passage whether it is not deleted.
func (v pinnedView) Contains(_ context.Context, passages []rank.Ordinal) ([]bool, error) {
	out := make([]bool, len(passages))
	for i, o := range passages {
		out[i] = !v.generation.Deleted(o)
	}
	return out, nil
}

// Selected returns the passages of a generation that a filter lets through. It returns a *conditions.MisfitError if the
// filter does not fit the types of the fields.
func Selected(g *folder.Generation, f storage.Filter) (*folder.Selection, error) {
	return selectedIn(g, f, nil)
}

// selectedIn returns the passages of a generation that a filter lets through. names are those of the collections of a
// joined generation; nil: it is of one. It returns a *conditions.MisfitError if the filter does not fit the types of
// the fields.
func selectedIn(g *folder.Generation, f storage.Filter, names []string) (*folder.Selection, error) {
	wrong, err := g.Misfits(&f.Where)
	if err != nil {
		return nil, err
	}
	if wrong != nil {
		return nil, &conditions.MisfitError{Problems: wrong}
	}
	var hidden []folder.Hidden
	for _, h := range f.Hidden {
		member := 0
		if names != nil {
			member = slices.Index(names, h.Collection)
		}
		hidden = append(hidden, folder.Hidden{Member: member, ID: h.ID})
	}
	return g.SelectWhere(folder.Condition{
		TagsAll: f.TagsAll, TagsAny: f.TagsAny, Documents: f.Documents, Must: f.Must, MustNot: f.MustNot, Hidden: hidden,
		Fields: f.Where,
	})
}

// passages are the texts of a generation.
type passages struct{ *folder.Generation }

// AtHand marks the passages as ones that Read gets without asking another machine.
func (p passages) AtHand() {}

// Read returns the passages with these ordinals, in their order. It fails if one is deleted or does not exist. It
// ignores the context, since it takes some milliseconds at most.
func (p passages) Read(_ context.Context, ordinals []rank.Ordinal) ([]corpus.Passage, error) {
	out := make([]corpus.Passage, len(ordinals))
	for i, o := range ordinals {
		var err error
		out[i], err = p.Passage(o)
		if err != nil {
			return nil, fmt.Errorf("passage %d: %w", o, err)
		}
	}
	return out, nil
}

// Sample returns n random passages, always the same of a generation, or all if there are fewer
// (folder.Generation.Sample). It returns nil if the collection is damaged: then no question is compared with it.
func (p passages) Sample(n int) []rank.Ordinal {
	sample, err := p.Generation.Sample(n)
	if err != nil {
		return nil
	}
	return sample
}

// After returns at most limit passages whose ids come after id, in the order of ids; nil if none is left. It never
// waits, so it ignores the context. It fails if an id cannot be read.
func (p passages) After(_ context.Context, id string, limit int) ([]rank.Ordinal, error) {
	return p.Generation.After(id, limit)
}

// DocumentsAfter returns at most limit first passages of documents whose ids come after id, in the order of ids; nil if
// none is left. It ignores the context; the first call reads all ids. It fails if an id cannot be read.
func (p passages) DocumentsAfter(_ context.Context, id string, limit int) ([]rank.Ordinal, error) {
	return p.Generation.DocumentsAfter(id, limit)
}

// IDs returns the ids of passages, in the order of ordinals, also of deleted ones. It fails for an ordinal that does
// not exist.
func (p passages) IDs(ordinals []rank.Ordinal) ([]string, error) {
	ids := make([]string, len(ordinals))
	for i, o := range ordinals {
		var err error
		ids[i], err = p.ID(o)
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// Lookup returns an entry for each id, in order, with the passage's ordinal; There is false if the id is unknown or
// deleted, which is no error.
func (p passages) Lookup(_ context.Context, ids []string) ([]storage.Found, error) {
	found := make([]storage.Found, len(ids))
	for i, id := range ids {
		var err error
		found[i].Ordinal, found[i].There, err = p.Generation.Ordinal(id)
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Ordinal returns the ordinal of the passage with this id; false if there is none or it is deleted. It fails if a
// file is damaged.
func (p passages) Ordinal(_ context.Context, id string) (rank.Ordinal, bool, error) {
	return p.Generation.Ordinal(id)
}

// among is the indexes of a generation, narrowed to a selection.
type among struct {
	generation *folder.Generation
	selection  *folder.Selection
}

// Words returns the index of single words, narrowed to the selection.
func (a among) Words() storage.WordIndex { return words{a.generation.Words().Among(a.selection)} }

// Vectors returns the index of an expert's vectors, narrowed to the selection; false if there is none of this name.
func (a among) Vectors(expert string) (storage.VectorIndex, bool) {
	index, ok := a.generation.Expert(expert)
	if !ok {
		return nil, false
	}
	return shown(index.Among(a.selection)), true
}

// Prefetch does nothing: the indexes are in memory. Its results are always nil.
func (a among) Prefetch(context.Context, []rank.Ordinal) ([]rank.Ordinal, error) { return nil, nil }

// Contains reports of each passage whether it is selected.
func (a among) Contains(_ context.Context, passages []rank.Ordinal) ([]bool, error) {
	out := make([]bool, len(passages))
	for i, o := range passages {
		out[i] = a.selection.Contains(o)
	}
	return out, nil
}

// Phrases returns the index of phrases, narrowed to the selection; nil if the collection has none.
func (a among) Phrases() storage.WordIndex { return phrases(a.generation.Phrases(), a.selection) }

// phrases returns an index of phrases as a storage.WordIndex, narrowed to a selection unless that is nil. It returns a
// nil interface if index is nil.
func phrases(index *folder.WordIndex, to *folder.Selection) storage.WordIndex {
	switch {
	case index == nil:
		return nil
	case to != nil:
		index = index.Among(to)
	}
	return words{index}
}

// vectors and words are indexes in memory: their scores need no context.
type vectors struct{ *folder.Vectors }

// Scores writes the inner products of query with the vectors of passages to out, which must have an element for each.
// It writes rank.NoVector for a passage that has none, and NaN for one that does not exist, a query of another
// dimension and damaged vectors. The error is always nil.
func (v vectors) Scores(_ context.Context, query []float32, passages []rank.Ordinal, out []float32) error {
	v.Vectors.Scores(query, passages, out)
	return nil
}

// shown returns the vectors of an expert as a storage.VectorIndex. The result has the method Best if the expert has
// vectors of parts of passages.
func shown(index *folder.Vectors) storage.VectorIndex {
	if index.Parts() {
		return parts{vectors{index}}
	}
	return vectors{index}
}

type parts struct{ vectors }

// Best returns the part of a passage whose vector has the greatest inner product with the query, as a byte range of
// the text, and that product. It fails if there is no such passage or the vectors are damaged.
func (p parts) Best(query []float32, passage rank.Ordinal) (rank.Span, float32, error) {
	return p.BestPart(query, passage)
}

type words struct{ *folder.WordIndex }

// Scores writes the BM25 scores of passages for a question to out, which must have an element for each; 0 for a
// passage without a term of the question. It fails if the index is damaged.
func (w words) Scores(_ context.Context, question string, passages []rank.Ordinal, out []float32) error {
	return w.WordIndex.Scores(question, passages, out)
}

// UpperBound returns a score that no passage exceeds for this question. It fails if the index is damaged.
func (w words) UpperBound(_ context.Context, question string) (float64, error) {
	return w.WordIndex.UpperBound(question)
}

// Rarities returns, for each text, its terms with how often the text has them, the numbers of passages that have them
// and their idf. It fails if the index is damaged.
func (w words) Rarities(_ context.Context, texts []string) ([][]storage.Rarity, error) {
	out := make([][]storage.Rarity, len(texts))
	for i, text := range texts {
		terms, err := w.WordIndex.Rarities(text)
		if err != nil {
			return nil, err
		}
		for _, t := range terms {
			out[i] = append(
				out[i],
				storage.Rarity{Term: t.Term, Count: t.Count, DocFrequency: t.DF, IDF: float64(t.IDF), Relative: t.Relative},
			)
		}
	}
	return out, nil
}

// Explain returns the terms of a question that a passage has, with the numbers that its BM25 score is made of; the
// Scores add up to it. It fails if the index is damaged.
func (w words) Explain(_ context.Context, question string, passage rank.Ordinal) ([]storage.TermScore, error) {
	explained, err := w.WordIndex.Explain(question, passage)
	if err != nil {
		return nil, err
	}
	terms := make([]storage.TermScore, len(explained))
	for i, t := range explained {
		terms[i] = storage.TermScore{
			Term: t.Term, Frequency: t.TF, DocFrequency: t.DF,
			IDF: float64(t.IDF), Boost: float64(t.Count), Score: float64(t.Score), For: t.For,
		}
	}
	return terms, nil
}

// ExpectNear does nothing: the texts are in memory.
func (w words) ExpectNear(string) {}

// NearScores writes to out, which must have an element for each passage, how near the words of a question stand in it
// (bm25.Nearness). It fails if a passage is deleted or does not exist.
func (w words) NearScores(_ context.Context, question string, passages []rank.Ordinal, out []float32) error {
	return w.WordIndex.NearScores(question, passages, out)
}

// ExplainNear returns the terms of a question that count towards a passage's score of NearScores, which is the sum of
// their idf. It fails if the passage is deleted or does not exist.
func (w words) ExplainNear(_ context.Context, question string, passage rank.Ordinal) ([]storage.TermScore, error) {
	near, err := w.NearTerms(question, passage)
	if err != nil {
		return nil, err
	}
	terms := make([]storage.TermScore, len(near))
	for i, t := range near {
		terms[i] = storage.NearTerm(t.Term, t.DF, t.IDF)
	}
	return terms, nil
}

// Fingerprints returns a hash of each passage's title and text, in the order of ordinals: copies have the same one.
// It fails for an ordinal that does not exist.
func (p passages) Fingerprints(_ context.Context, ordinals []rank.Ordinal) ([]uint64, error) {
	out := make([]uint64, len(ordinals))
	for i, o := range ordinals {
		var err error
		out[i], err = p.Generation.Fingerprint(o)
		if err != nil {
			return nil, fmt.Errorf("passage %d: %w", o, err)
		}
	}
	return out, nil
}
