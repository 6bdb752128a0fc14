package bm25

import (
	"encoding/binary"
	"io"
	"slices"
	"strings"
)

// builderSource is the termIterator of the terms and phrases that a builder holds in memory.
type builderSource struct {
	builder  *Builder
	order    []uint32 // terms by their bytes
	at       int      // place in order, plus one
	phrases  *sortedPhrases
	inPhrase bool // whether it stands at a phrase
	buffer   []byte
}

// source returns the terms and phrases in memory, sorted, and adds the impacts of the phrases to b.impacts.
func (b *Builder) source() *builderSource {
	s := &builderSource{builder: b, order: make([]uint32, len(b.terms))}
	for i := range s.order {
		s.order[i] = uint32(i)
	}
	slices.SortFunc(s.order, func(x, y uint32) int { return strings.Compare(b.terms[x].text, b.terms[y].text) })
	if b.phrases == nil {
		return s
	}
	places := make([]uint32, len(s.order))
	for place, id := range s.order {
		places[id] = uint32(place)
	}
	s.phrases = b.phrases.sorted(places, b.lengths)
	count := func(passage, tf uint32) { b.impacts.add(impact{tf, roundLength(b.lengths[passage])}) }
	for {
		if _, ok := s.phrases.next(); !ok {
			s.phrases.rewind()
			return s
		}
		s.phrases.each(count)
	}
}

// next returns the next term in byte order, in new memory; io.EOF after the last. postings then gives its postings.
func (s *builderSource) next() ([]byte, error) {
	if s.at == len(s.order) {
		return nil, io.EOF
	}
	s.at++
	return []byte(s.builder.terms[s.order[s.at-1]].text), nil
}

// nextPhrase returns the key of the next phrase in ascending order; io.EOF after the last, or if there are no
// phrases. postings then gives its postings, and no longer those of a term.
func (s *builderSource) nextPhrase() (uint64, error) {
	s.inPhrase = true
	if s.phrases == nil {
		return 0, io.EOF
	}
	if key, ok := s.phrases.next(); ok {
		return key, nil
	}
	return 0, io.EOF
}

// postings calls yield with each posting of the last term or phrase, in the order of the passages. The error is
// always nil.
func (s *builderSource) postings(yield func(passage, tf uint32)) error {
	if s.inPhrase {
		s.phrases.each(yield)
		return nil
	}
	s.buffer = s.builder.arena.appendTo(s.buffer[:0], s.builder.terms[s.order[s.at-1]].postings)
	passage := uint64(0)
	for b := s.buffer; len(b) > 0; { // as Builder.post keeps them
		gap, n := binary.Uvarint(b)
		b = b[n:]
		tf := uint64(1)
		if gap&1 == 0 {
			tf, n = binary.Uvarint(b)
			b = b[n:]
		}
		passage += gap >> 1
		yield(uint32(passage-1), uint32(tf))
	}
	return nil
}
