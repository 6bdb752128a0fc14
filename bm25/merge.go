package bm25

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Merge writes one segment from several, in their order and without the
// passages deleted from them (Bases do not matter): the same file, byte for
// byte, as indexing the remaining passages anew would give, without their
// texts. The segments must have been built with the same parameters.
func Merge(ctx context.Context, path string, segments ...Segment) error {
	var order []Place
	for i, g := range segments {
		dead, err := deletedSet(g)
		if err != nil {
			return err
		}
		for passage := range g.Index.passages {
			if !dead.isDeleted(passage) {
				order = append(order, Place{Segment: i, Passage: passage})
			}
		}
	}
	return MergeOrdered(ctx, path, order, segments...)
}

// deletedSet checks the deletions of a segment.
func deletedSet(g Segment) (*segment, error) {
	return &segment{Segment: g}, eachDeleted(g, func(uint32) error { return nil })
}

// A Place is a passage of one of several segments.
type Place struct {
	Segment int    // which of the segments, from 0
	Passage uint32 // its number there
}

// MergeOrdered is Merge for passages in another order: order names those of the
// new segment, from its first. Those of one segment must be in ascending order;
// those that are not named, deleted or not, are left out.
func MergeOrdered(ctx context.Context, path string, order []Place, segments ...Segment) error {
	if len(segments) == 0 {
		return errors.New("merging no segments")
	}
	if len(order) > maxPassages {
		return fmt.Errorf("the merged segment would have %d passages, %d are possible", len(order), maxPassages)
	}
	content := segmentContent{params: segments[0].Index.params, impacts: &impactCounts{}, lengths: make([]uint32, len(order))}
	sources := make([]*indexSource, len(segments))
	for i, g := range segments {
		if g.Index.params != content.params {
			return fmt.Errorf("segment %d was built with %+v and segment 0 with %+v: they cannot be merged", i, g.Index.params, content.params)
		}
		var err error
		if sources[i], err = newIndexSource(g.Index); err != nil {
			return err
		}
		content.sources = append(content.sources, sources[i])
		content.terms = max(content.terms, g.Index.Vocabulary())
	}
	content.postings = (&interleaver{}).visit
	if err := number(order, sources, content.lengths); err != nil {
		return err
	}
	for _, s := range sources {
		if err := s.countImpacts(ctx, content.impacts); err != nil {
			return err
		}
	}
	return writeFile(path, func(out io.Writer) error {
		_, err := writeSegment(ctx, out, content)
		return err
	})
}

// number gives the passages their numbers in the merged segment, and lengths
// their lengths.
func number(order []Place, sources []*indexSource, lengths []uint32) error {
	next := make([]uint32, len(sources)) // the least passage that may come next
	for i, at := range order {
		if at.Segment < 0 || at.Segment >= len(sources) || at.Passage >= sources[at.Segment].index.passages {
			return fmt.Errorf("passage %d of segment %d is to be merged, and there is none", at.Passage, at.Segment)
		}
		if at.Passage < next[at.Segment] {
			return fmt.Errorf("passage %d of segment %d is out of its segment's order", at.Passage, at.Segment)
		}
		next[at.Segment] = at.Passage + 1
		s := sources[at.Segment]
		s.renumbered[at.Passage] = uint32(i)
		lengths[i] = s.lengths[at.Passage]
	}
	return nil
}

// gone stands for the new number of a deleted passage.
const gone = ^uint32(0)

// indexSource is a segment that is being merged.
type indexSource struct {
	index      *Index
	scale      *strengths
	renumbered []uint32 // passage → its number in the merged segment, or gone
	lengths    []uint32
	term       uint32 // the next one
	cursor     cursor
}

func newIndexSource(x *Index) (*indexSource, error) {
	s := &indexSource{index: x, scale: &strengths{}, renumbered: make([]uint32, x.passages), lengths: make([]uint32, x.passages)}
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

// countImpacts adds the impacts of the postings that will be kept.
func (s *indexSource) countImpacts(ctx context.Context, counts *impactCounts) error {
	defer func() { s.term = 0 }()
	params := s.index.params
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, err := s.next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		err := s.each(func(passage, tf uint32) {
			counts.add(impact{tf, params.indexedLength(s.lengths[passage])})
		})
		if err != nil {
			return err
		}
	}
}

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

func (s *indexSource) postings(yield func(passage, tf uint32)) error {
	return s.each(func(passage, tf uint32) { yield(s.renumbered[passage], tf) })
}

// pull moves to the term's next posting of a passage that is kept, and returns
// its new number; gone behind the last.
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

// each visits the term's postings of passages that are not deleted.
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
