package bm25

// phraseGap separates the two terms of a phrase. No term holds it: it ends words.
const phraseGap = ' '

// Phrases returns another reading of the same segments, in which a question's terms
// are its phrases: two terms that follow each other in what Analyse returns, within
// the title or within the text of a passage. "The lake is deep" and "lakes, deep
// ones" have the phrase "lake deep". A phrase scores as a term does, with its own
// df and tf, and with the lengths, the average and the number of passages that
// terms are scored with; so its scores can be added to theirs (Metzler and Croft,
// "A Markov Random Field Model for Term Dependencies", SIGIR 2005: the sequential
// dependence of exact phrases, with BM25's formula).
//
// It keeps the order of ties that is set. It is nil where the segments were
// built without phrases (see Params), and where there are none.
func (s *Searcher) Phrases() *Searcher {
	if !s.params.Phrases {
		return nil
	}
	return &Searcher{params: s.params, statistics: s.statistics, segments: s.segments, ties: s.ties, phrases: true}
}

// phrasesOf lists the phrases of a question's terms, in order and with
// repetitions.
func phrasesOf(terms []string) []string {
	var out []string
	for i := 1; i < len(terms); i++ {
		out = append(out, terms[i-1]+string(phraseGap)+terms[i])
	}
	return out
}
