package bm25

import (
	"context"
	"errors"
	"fmt"

	"conclave/disk"
)

// A Place is a passage of one of several segments.
type Place struct {
	Segment int    // which of the segments, from 0
	Passage uint32 // its number there
}

// MergeOrdered writes one segment from several (Bases do not matter): the same
// file, byte for byte, as indexing the passages that order names anew would give,
// without their texts. order is that of the new segment, from its first passage.
// Those of one segment must be in ascending order; those that are not named,
// deleted or not, are left out. The segments must have been built with the same
// parameters.
func MergeOrdered(ctx context.Context, d disk.Disk, path string, order []Place, segments ...Segment) error {
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
		content.terms = max(content.terms, int(g.Index.terms))
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
	return disk.ReplaceFile(d, path, func(out *disk.Replacement) error {
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
