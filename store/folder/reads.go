package folder

import (
	"context"
	"fmt"
	"path/filepath"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
	"example.org/conclave/store/folder/internal/segmentfile"
)

// Reads counts the live passages by how the encoders read them. Known are the passages for which that was noted when
// they were indexed; of these, Cut are those of which an encoder reads only the beginning, and Unread those that one
// can hardly read. Unknown are the passages for which nothing was noted; it is 0 if the collection has no experts.
func (g *Generation) Reads() (out store.Reads) {
	for i, s := range g.segments {
		alive := s.store.Len() - s.dead.Count()
		if g.manifest.Segments[i].Reads == nil {
			if len(g.manifest.Experts) > 0 {
				out.Unknown += alive
			}
			continue
		}
		unknown := s.reads.unknown.Without(s.dead).Count()
		out.Known += alive - unknown
		out.Unknown += unknown
		out.Cut += s.reads.cut.Without(s.dead).Count()
		out.Unread += s.reads.unread.Without(s.dead).Count()
	}
	return out
}

// segmentReads are the lists of an open segment.
type segmentReads struct{ cut, unread, unknown segmentfile.Tombstones }

// readMaker returns how the encoders read the passages of a new segment; known is false if
// that is not known of any.
type readMaker func(ctx context.Context, texts passages) (reads segmentReads, known bool, err error)

// readBy returns a readMaker that asks these encoders which passages they cut and which they can hardly read. known is
// false if none of the encoders can tell.
func readBy(encoders []store.PassageEncoder) readMaker {
	return func(ctx context.Context, texts passages) (reads segmentReads, known bool, err error) {
		var cut, unread []rank.Ordinal
		for o := range rank.Ordinal(texts.Len()) {
			if o%256 == 0 && ctx.Err() != nil {
				return reads, false, ctx.Err()
			}
			p, err := texts.Passage(o)
			if err != nil {
				return reads, false, err
			}
			c, u, some := store.ReadsOf(encoders, p)
			if !some {
				return reads, false, nil
			}
			if c {
				cut = append(cut, o)
			}
			if u {
				unread = append(unread, o)
			}
		}
		return segmentReads{cut: reads.cut.With(texts.Len(), cut), unread: reads.unread.With(texts.Len(), unread)}, true, nil
	}
}

// readsTakenOver returns a readMaker for a merged segment that takes its lists from the segments in from. order says
// where each passage comes from. Passages of a segment without lists are unknown; known is false if all passages are.
func readsTakenOver(from []*segment, order []origin) readMaker {
	return func(context.Context, passages) (reads segmentReads, known bool, err error) {
		var cut, unread, unknown []rank.Ordinal
		for i, at := range order {
			lists := from[at.segment].reads
			if lists == nil || lists.unknown.Has(at.ordinal) {
				unknown = append(unknown, rank.Ordinal(i))
				continue
			}
			if lists.cut.Has(at.ordinal) {
				cut = append(cut, rank.Ordinal(i))
			}
			if lists.unread.Has(at.ordinal) {
				unread = append(unread, rank.Ordinal(i))
			}
		}
		n := len(order)
		return segmentReads{
			reads.cut.With(n, cut),
			reads.unread.With(n, unread),
			reads.unknown.With(n, unknown),
		}, len(unknown) < n, nil
	}
}

// writeReads writes a segment's lists of cut, unread and unknown passages that are not empty, in new files with a
// number in their names, and returns them. It does not sync. passages is the segment's number of passages. It fails
// if a file cannot be written.
func writeReads(
	d disk.Disk,
	dir string,
	reads segmentReads,
	passages int,
	number func() uint64,
) (*manifest.Reads, error) {
	out := &manifest.Reads{}
	for _, list := range []struct {
		name  string
		marks segmentfile.Tombstones
		into  **manifest.Marks
	}{{"cut", reads.cut, &out.Cut}, {"unread", reads.unread, &out.Unread}, {"unknown", reads.unknown, &out.Unknown}} {
		n := list.marks.Count()
		if n == 0 {
			continue
		}
		name := fmt.Sprintf("%s-%d", list.name, number())
		if err := d.WriteFile(filepath.Join(dir, name), list.marks.Encode(passages)); err != nil {
			return nil, err
		}
		*list.into = &manifest.Marks{SegmentFile: manifest.SegmentFile{Name: name}, Passages: n}
	}
	return out, nil
}

// openReads reads the lists of cut, unread and unknown passages of a segment in the folder; nil if it has none. It
// fails if a file is damaged.
func openReads(d disk.Disk, folder string, s *manifest.Segment) (*segmentReads, error) {
	if s.Reads == nil {
		return nil, nil
	}
	out := &segmentReads{}
	for _, list := range []struct {
		marks *manifest.Marks
		into  *segmentfile.Tombstones
	}{{s.Reads.Cut, &out.cut}, {s.Reads.Unread, &out.unread}, {s.Reads.Unknown, &out.unknown}} {
		if list.marks == nil {
			continue
		}
		var err error
		*list.into, err = segmentfile.ReadMarks(d, folder, list.marks.SegmentFile, s.Passages, list.marks.Passages)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
