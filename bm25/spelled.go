package bm25

import "example.org/conclave/bm25/forms"

// Frequency returns how many passages a question of this word finds at least: those with its term, or with another
// form if more have that. term is false if the word is a stop word, which has no term. It fails if an index is
// damaged.
func (s *Searcher) Frequency(word string) (passages int, term bool, err error) {
	terms := s.params.Analysis.Terms(word)
	for _, entry := range append(terms, s.params.Analysis.AskedWords(word)...) {
		df, err := s.frequency(entry, s.lookup)
		if err != nil {
			return 0, true, err
		}
		passages = max(passages, df)
	}
	return passages, len(terms) > 0, nil
}

// AdjacentShares returns two shares, from 0 to 1, of passages in which a word stands next to others: left of the
// passages with the last term of before, those with the word's term right after it; right of those with the first term
// of after, those with the word's term right before it. Both are 0 for a word without a term, and if the collection has
// no phrases. It fails if an index is damaged.
func (s *Searcher) AdjacentShares(before, word, after string) (left, right float64, err error) {
	terms := s.params.Analysis.Terms(word)
	if len(terms) == 0 || !s.params.Phrases {
		return 0, 0, nil
	}
	if preceding := s.params.Analysis.Terms(before); len(preceding) > 0 {
		neighbour := preceding[len(preceding)-1]
		left, err = s.share(neighbour, forms.PhrasesOf([]string{neighbour, terms[0]})[0])
		if err != nil {
			return 0, 0, err
		}
	}
	if following := s.params.Analysis.Terms(after); len(following) > 0 {
		right, err = s.share(following[0], forms.PhrasesOf([]string{terms[len(terms)-1], following[0]})[0])
	}
	return left, right, err
}

// share returns the share of the passages with a term that have a phrase; 0 if none has the term. It fails if an
// index is damaged.
func (s *Searcher) share(term, phrase string) (float64, error) {
	all, err := s.frequency(term, s.lookup)
	if err != nil || all == 0 {
		return 0, err
	}
	some, err := s.frequency(phrase, s.lookup)
	return min(1, float64(some)/float64(all)), err
}

// frequency returns how many live passages have a term or a phrase. lookup returns its record in a segment, whose df
// is 0 if the segment does not have it. It fails if an index is damaged or lookup does.
func (s *Searcher) frequency(text string, lookup func(*Index, []byte) (termRecord, error)) (int, error) {
	df := uint64(0)
	for _, g := range s.segments {
		r, err := lookup(g.Index, []byte(text))
		if err != nil {
			return 0, err
		}
		dead, err := g.deleted(r)
		if err != nil {
			return 0, err
		}
		df += uint64(r.df - min(dead, r.df))
	}
	return int(df), nil
}
