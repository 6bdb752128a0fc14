package bm25

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
)

// builderSource is what a builder holds in memory.
type builderSource struct {
	builder  *Builder
	order    []uint32 // terms by their bytes
	at       int      // place in order, plus one
	phrases  *sortedPhrases
	inPhrase bool // whether it stands at a phrase
	buffer   []byte
}

// source sorts what is in memory, and counts the impacts of its phrases.
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
	count := func(passage, tf uint32) { b.impacts.add(impact{tf, b.params.indexedLength(b.lengths[passage])}) }
	for {
		if _, ok := s.phrases.next(); !ok {
			s.phrases.rewind()
			return s
		}
		s.phrases.each(count)
	}
}

func (s *builderSource) next() ([]byte, error) {
	if s.at == len(s.order) {
		return nil, io.EOF
	}
	s.at++
	return []byte(s.builder.terms[s.order[s.at-1]].text), nil
}

func (s *builderSource) nextPhrase() (uint64, error) {
	if s.inPhrase = true; s.phrases == nil {
		return 0, io.EOF
	}
	if key, ok := s.phrases.next(); ok {
		return key, nil
	}
	return 0, io.EOF
}

func (s *builderSource) postings(yield func(passage, tf uint32)) error {
	if s.inPhrase {
		s.phrases.each(yield)
		return nil
	}
	s.buffer = s.appendPostings(s.buffer[:0])
	return eachGap(s.buffer, yield)
}

// appendPostings appends the postings of the term or phrase as a builder keeps
// them.
func (s *builderSource) appendPostings(out []byte) []byte {
	if !s.inPhrase {
		return s.builder.arena.appendTo(out, s.builder.terms[s.order[s.at-1]].postings)
	}
	last := uint32(0)
	s.phrases.each(func(passage, tf uint32) {
		out = appendGap(out, last, passage, tf)
		last = passage + 1
	})
	return out
}

// appendGap appends a posting as a builder keeps it: what is added to the last
// passage, plus one, and whether tf is 1 in one varint, since most tf are 1.
func appendGap(out []byte, last, passage, tf uint32) []byte {
	gap := uint64(passage+1-last) << 1
	if tf == 1 {
		return binary.AppendUvarint(out, gap|1)
	}
	return binary.AppendUvarint(binary.AppendUvarint(out, gap), uint64(tf))
}

var errDamagedRun = errors.New("a temporary file of the index builder changed while it was in use")

// eachGap decodes postings as a builder keeps them.
func eachGap(b []byte, yield func(passage, tf uint32)) error {
	passage := uint64(0)
	for len(b) > 0 {
		gap, n := binary.Uvarint(b)
		if n <= 0 {
			return errDamagedRun
		}
		b = b[n:]
		tf := uint64(1)
		if gap&1 == 0 {
			if tf, n = binary.Uvarint(b); n <= 0 {
				return errDamagedRun
			}
			b = b[n:]
		}
		passage += gap >> 1
		yield(uint32(passage-1), uint32(tf))
	}
	return nil
}
