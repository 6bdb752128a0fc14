package bm25

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"example.org/conclave/internal/disk"
)

// SegmentPassage is a passage of one of several segments.
type SegmentPassage struct {
	Segment int    // which of the segments, from 0
	Passage uint32 // its number there
}

// MergeOrdered writes one segment of passages of several to a file at path: the same, byte for byte, as indexing these
// passages in this order would give, without needing their texts. Passages that order does not name are left out,
// deleted or not. Bases and Deleted of segments do not matter. It fails, and leaves no file, if segments were built
// with different parameters, passages of one segment are not in ascending order, or ctx ends.
func MergeOrdered(
	ctx context.Context, d disk.Disk, path string, order iter.Seq[SegmentPassage], segments ...Segment,
) error {
	content, err := mergedContent(ctx, segments, order)
	if err != nil {
		return err
	}
	return disk.ReplaceFile(d, path, func(out *disk.Replacement) error {
		_, err := writeSegment(ctx, out, content)
		return err
	})
}

// oneAfterOther returns all passages of the segments: those of the first, then those of the second, and so on.
func oneAfterOther(segments []Segment) iter.Seq[SegmentPassage] {
	return func(yield func(SegmentPassage) bool) {
		for i, g := range segments {
			for passage := range g.Index.passages {
				if !yield(SegmentPassage{i, passage}) {
					return
				}
			}
		}
	}
}

// mergedContent returns the content of a segment that has the passages that order names, in that order. It fails if the
// segments were built with different parameters, or order names a passage that does not exist or is out of its
// segment's order.
func mergedContent(
	ctx context.Context, segments []Segment, order iter.Seq[SegmentPassage],
) (content segmentContent, err error) {
	if len(segments) == 0 {
		return content, errors.New("merging no segments")
	}
	content = segmentContent{params: segments[0].Index.params, impacts: &impactCounts{}}
	sources := make([]*indexSource, len(segments))
	for i, g := range segments {
		if g.Index.params != content.params {
			return content, fmt.Errorf(
				"segment %d was built with %+v and segment 0 with %+v: they cannot be merged", i, g.Index.params,
				content.params,
			)
		}
		sources[i], err = newIndexSource(g.Index)
		if err != nil {
			return content, err
		}
		content.sources = append(content.sources, sources[i])
		content.terms = max(content.terms, int(g.Index.terms))
	}
	next := make([]uint32, len(sources)) // the least passage that may come next
	for at := range order {
		if at.Segment < 0 || at.Segment >= len(sources) || at.Passage >= sources[at.Segment].index.passages {
			return content, fmt.Errorf("passage %d of segment %d is to be merged, and there is none", at.Passage, at.Segment)
		}
		if at.Passage < next[at.Segment] {
			return content, fmt.Errorf("passage %d of segment %d is out of its segment's order", at.Passage, at.Segment)
		}
		if len(content.lengths) == maxPassages {
			return content, fmt.Errorf("the merged segment would have more than %d passages", maxPassages)
		}
		next[at.Segment] = at.Passage + 1
		s := sources[at.Segment]
		s.renumbered[at.Passage] = uint32(len(content.lengths))
		content.lengths = append(content.lengths, s.lengths[at.Passage])
	}
	for _, s := range sources {
		if err := s.countImpacts(ctx, content.impacts); err != nil {
			return content, err
		}
	}
	return content, nil
}
