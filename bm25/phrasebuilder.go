package bm25

const (
	// phraseMemory is what a term of a text costs in the builder for the sake of
	// phrases: its place in the text, and two pairs while phrases are sorted.
	phraseMemory = 4 + 8 + 8

	tokenPage = 1 << 16 // terms that are allocated at once; a list that grows would be copied

	// beginsText marks the first term of a title or a text, which no term precedes.
	// Terms have lower numbers: one segment holds fewer.
	beginsText = 1 << 31
)

// A phraseBuilder keeps the terms of passages in the order of their texts. When a
// segment is written, it makes pairs of adjacent terms and sorts them into phrases.
// Most phrases occur once, so a table of phrases with a list of passages for each
// would cost many times more.
type phraseBuilder struct {
	pages [][]uint32 // terms; the first of a text with beginsText
	n     int        // how many terms
	other []otherPhrase
}

// otherPhrase is a phrase of which a term is another form of a passage's word.
type otherPhrase struct{ first, second, passage uint32 }

// add appends a term of the passage being added. begins says that it is the first of a title or a text, so that it
// makes no phrase with the term before.
func (p *phraseBuilder) add(term uint32, begins bool) {
	page := p.n / tokenPage
	if page == len(p.pages) {
		p.pages = append(p.pages, make([]uint32, tokenPage))
	}
	if begins {
		term |= beginsText
	}
	p.pages[page][p.n%tokenPage] = term
	p.n++
}

// size returns about how many bytes a reset frees; 0 if p is nil.
func (p *phraseBuilder) size() int64 {
	if p == nil {
		return 0
	}
	return phraseMemory*int64(p.n) + 28*int64(len(p.other))
}

// full reports whether no more terms can be sorted. It is false if p is nil.
func (p *phraseBuilder) full() bool { return p != nil && p.n >= 1<<31 }

// reset drops all terms and keeps the memory. It does nothing if p is nil.
func (p *phraseBuilder) reset() {
	if p != nil {
		p.n = 0
		p.other = p.other[:0] // the pages stay for the next ones
	}
}

// each calls visit with all phrases in the order of the passages. places has the place of each term in the vocabulary's
// order, lengths the number of terms of each passage.
func (p *phraseBuilder) each(places, lengths []uint32, visit func(first, second, passage uint32)) {
	at := 0
	before := uint32(0)
	for passage, n := range lengths {
		for range n {
			term := p.pages[at/tokenPage][at%tokenPage]
			at++
			place := places[term&^beginsText]
			if term&beginsText == 0 {
				visit(before, place, uint32(passage))
			}
			before = place
		}
	}
	for _, q := range p.other {
		visit(places[q.first], places[q.second], q.passage)
	}
}

// sorted returns the phrases in the order of their first terms' places, then their second ones', then the passages.
// Phrases come in the order of passages, and two passes of counting sort keep it.
func (p *phraseBuilder) sorted(places, lengths []uint32) *sortedPhrases {
	ends, seconds := make([]uint32, len(places)), make([]uint32, len(places))
	n := 0
	p.each(places, lengths, func(first, second, _ uint32) {
		ends[first]++
		seconds[second]++
		n++
	})
	toBegins(ends)
	toBegins(seconds)
	bySecond := make([]pair, n)
	p.each(places, lengths, func(first, second, passage uint32) {
		bySecond[seconds[second]] = pair{first, passage}
		seconds[second]++
	})
	pairs := make([]pair, n)
	from := uint32(0)
	for second, end := range seconds {
		for _, q := range bySecond[from:end] {
			pairs[ends[q.term]] = pair{uint32(second), q.passage}
			ends[q.term]++
		}
		from = end
	}
	return &sortedPhrases{pairs: pairs, ends: ends}
}

// toBegins replaces each count by the sum of those before it, in place.
func toBegins(counts []uint32) {
	sum := uint32(0)
	for i, n := range counts {
		counts[i] = sum
		sum += n
	}
}

type pair struct{ term, passage uint32 }

// sortedPhrases is a builder's phrases, and a place among them. Terms have the
// numbers of their order.
type sortedPhrases struct {
	pairs []pair   // second terms; once for each time that the phrase occurs
	ends  []uint32 // by first term: where its pairs end

	first   uint32 // term of the phrase
	at, end int    // its pairs
}

// next moves to the next phrase and returns its key (phraseKey); ok is false after the last.
func (s *sortedPhrases) next() (key uint64, ok bool) {
	s.at = s.end
	if s.at == len(s.pairs) {
		return 0, false
	}
	for int(s.ends[s.first]) <= s.at {
		s.first++
	}
	second := s.pairs[s.at].term
	for s.end++; s.end < int(s.ends[s.first]) && s.pairs[s.end].term == second; {
		s.end++
	}
	return phraseKey(s.first, second), true
}

// rewind moves to before the first phrase.
func (s *sortedPhrases) rewind() { s.first, s.at, s.end = 0, 0, 0 }

// each calls yield with each passage of the phrase that next returned, ascending, and how often it has the phrase.
func (s *sortedPhrases) each(yield func(passage, tf uint32)) {
	pairs := s.pairs[s.at:s.end]
	for i := 0; i < len(pairs); {
		from := i
		for i++; i < len(pairs) && pairs[i].passage == pairs[from].passage; {
			i++
		}
		yield(pairs[from].passage, uint32(i-from))
	}
}
