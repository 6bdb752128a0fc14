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
	if len(segments) == 0 {
		return errors.New("merging no segments")
	}
	content := segmentContent{params: segments[0].Index.params, impacts: &impactCounts{}}
	for i, g := range segments {
		if g.Index.params != content.params {
			return fmt.Errorf("segment %d was built with %+v and segment 0 with %+v: they cannot be merged", i, g.Index.params, content.params)
		}
		s, err := newIndexSource(g, uint32(len(content.lengths)))
		if err != nil {
			return err
		}
		content.sources = append(content.sources, s)
		for passage, kept := range s.renumbered {
			if kept != gone {
				content.lengths = append(content.lengths, s.lengths[passage])
			}
		}
		if len(content.lengths) > maxPassages {
			return fmt.Errorf("the merged segment would have more than %d passages", maxPassages)
		}
		if err := s.countImpacts(ctx, content.impacts); err != nil {
			return err
		}
	}
	return writeFile(path, func(out io.Writer) error {
		_, err := writeSegment(ctx, out, content)
		return err
	})
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

func newIndexSource(g Segment, first uint32) (*indexSource, error) {
	x := g.Index
	s := &indexSource{index: x, scale: &strengths{}, renumbered: make([]uint32, x.passages), lengths: make([]uint32, x.passages)}
	b, err := x.bytes(sectionLengths, 0, x.sections[sectionLengths].length)
	if err != nil {
		return nil, err
	}
	for i := range s.lengths {
		s.lengths[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	err = eachDeleted(g, func(passage uint32) error {
		s.renumbered[passage] = gone
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range s.renumbered {
		if s.renumbered[i] != gone {
			s.renumbered[i] = first
			first++
		}
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
