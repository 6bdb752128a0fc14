package bm25

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
)

// gone stands for the new number of a deleted passage, and of a term that all
// passages of which are deleted.
const gone = ^uint32(0)

// indexSource is the termIterator of a segment that is being merged. It leaves out the postings of
// deleted passages, and renumbers the others.
type indexSource struct {
	index      *Index
	scale      *strengths
	renumbered []uint32 // passage → its number in the merged segment, or gone
	lengths    []uint32
	term       uint32 // the next one
	phrases    phraseReader
	cursor     cursor
}

// newIndexSource returns a reader of an index's terms, phrases and lengths, for a merge. Every passage counts as
// deleted until the caller sets its new number in renumbered. It fails if the lengths cannot be read.
func newIndexSource(x *Index) (*indexSource, error) {
	s := &indexSource{
		index:      x,
		scale:      &strengths{},
		renumbered: make([]uint32, x.passages),
		lengths:    make([]uint32, x.passages),
	}
	s.phrases.index = x
	b, err := x.bytes(sectionLengths, 0, x.sections[sectionLengths].length)
	if err != nil {
		return nil, err
	}
	for i := range s.lengths {
		s.lengths[i] = binary.LittleEndian.Uint32(b[4*i:])
		s.renumbered[i] = gone
	}
	return s, nil
}

// countImpacts adds to counts the impacts of all postings of kept passages, and moves s back before the first term.
// It fails if the index is damaged or ctx ends.
func (s *indexSource) countImpacts(ctx context.Context, counts *impactCounts) error {
	defer func() {
		s.term = 0
		s.phrases = phraseReader{index: s.index}
	}()
	count := func(passage, tf uint32) {
		counts.add(impact{tf, roundLength(s.lengths[passage])})
	}
	terms := true
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var err error
		if terms {
			_, err = s.next()
			if errors.Is(err, io.EOF) {
				terms = false
			}
		}
		if !terms {
			_, err = s.nextPhrase()
			if errors.Is(err, io.EOF) {
				return nil
			}
		}
		if err != nil {
			return err
		}
		if err := s.each(count); err != nil {
			return err
		}
	}
}

// next returns the next term in byte order, in place; io.EOF after the last. Either postings, each or pull then gives
// its postings, once.
func (s *indexSource) next() ([]byte, error) {
	if s.term == s.index.terms {
		return nil, io.EOF
	}
	r, err := s.index.record(s.term)
	if err != nil {
		return nil, err
	}
	if err := s.cursor.reset(s.index, s.scale, r, 0); err != nil {
		return nil, err
	}
	s.term++
	return s.index.termText(s.term - 1)
}

// nextPhrase returns the key of the next phrase in ascending order; io.EOF after the last. Either postings, each or
// pull then gives its postings, once.
func (s *indexSource) nextPhrase() (uint64, error) {
	if err := s.phrases.next(); err != nil {
		return 0, err
	}
	r, err := s.phrases.run.record()
	if err != nil {
		return 0, err
	}
	return s.phrases.run.key, s.cursor.reset(s.index, s.scale, r, 0)
}

// postings calls yield with each posting of the last term or phrase whose passage is kept, by the passage's new
// number, in the order of the old ones. It fails if the postings are damaged.
func (s *indexSource) postings(yield func(passage, tf uint32)) error {
	return s.each(func(passage, tf uint32) { yield(s.renumbered[passage], tf) })
}

// pull returns the next posting of a kept passage of the last term or phrase, by the passage's new number; the
// passage is gone after the last. It returns a *DamageError for a damaged block.
func (s *indexSource) pull() (passage, tf uint32, err error) {
	for c := &s.cursor; c.block < c.record.blocks; c.block, c.decoded = c.block+1, false {
		if !c.decoded {
			if err := c.decode(); err != nil {
				return 0, 0, err
			}
		}
		for c.place < c.n {
			at := c.place
			c.place++
			if kept := s.renumbered[c.passages[at]]; kept != gone {
				rank, ok := c.rankAt(at)
				if !ok {
					return 0, 0, c.damaged()
				}
				return kept, s.index.impacts[rank].tf, nil
			}
		}
	}
	return gone, 0, nil
}

// each calls visit with the postings of kept passages of the last term or phrase, by their old numbers, ascending. It
// fails if the postings are damaged.
func (s *indexSource) each(visit func(passage, tf uint32)) error {
	for c := &s.cursor; c.block < c.record.blocks; c.block++ {
		if err := c.decode(); err != nil {
			return err
		}
		for i, passage := range c.passages[:c.n] {
			rank, ok := c.rankAt(i)
			if !ok {
				return c.damaged()
			}
			if s.renumbered[passage] != gone {
				visit(passage, s.index.impacts[rank].tf)
			}
		}
	}
	return nil
}
