package folder

import (
	"context"
	"fmt"
	"path/filepath"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
)

// Reads returns how the encoders read the generation's passages.
func (g *Generation) Reads() (out store.Reads) {
	for i, s := range g.segments {
		alive := s.store.Len() - s.dead.count()
		if g.manifest.Segments[i].Reads == nil {
			if len(g.manifest.Experts) > 0 {
				out.Unknown += alive
			}
			continue
		}
		unknown := s.reads.unknown.without(s.dead).count()
		out.Known += alive - unknown
		out.Unknown += unknown
		out.Cut += s.reads.cut.without(s.dead).count()
		out.Unread += s.reads.unread.without(s.dead).count()
	}
	return out
}

// readsManifest says that a segment's passages were looked at, and names the lists of
// those that are read in part and hardly, where there are any, and of those that came from
// segments whose passages were not looked at.
type readsManifest struct {
	Cut     *marksManifest `json:"cut,omitempty"`
	Unread  *marksManifest `json:"unread,omitempty"`
	Unknown *marksManifest `json:"unknown,omitempty"`
}

// marksManifest is a file that lists passages as one of tombstones does.
type marksManifest struct {
	fileManifest
	Passages int `json:"passages"`
}

// files returns the lists that there are.
func (r *readsManifest) files() (out []*fileManifest) {
	if r == nil {
		return nil
	}
	for _, of := range []*marksManifest{r.Cut, r.Unread, r.Unknown} {
		if of != nil {
			out = append(out, &of.fileManifest)
		}
	}
	return out
}

// segmentReads are the lists of an open segment.
type segmentReads struct{ cut, unread, unknown tombstones }

// readMaker tells how the passages of a new segment are read; known is false where nobody
// can say.
type readMaker func(ctx context.Context, texts passages) (reads segmentReads, known bool, err error)

// readBy asks encoders.
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
			c, u, some := store.ReadsOf(encoders, p, true)
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
		return segmentReads{cut: reads.cut.with(texts.Len(), cut), unread: reads.unread.with(texts.Len(), unread)}, true, nil
	}
}

// readsTakenOver returns what the segments of a merge say. The passages of those that do not say
// it are not known; known is false where all are of such.
func readsTakenOver(from []*segment, order []origin) readMaker {
	return func(context.Context, passages) (reads segmentReads, known bool, err error) {
		var cut, unread, unknown []rank.Ordinal
		for i, at := range order {
			of := from[at.segment].reads
			if of == nil || of.unknown.has(at.ordinal) {
				unknown = append(unknown, rank.Ordinal(i))
				continue
			}
			if of.cut.has(at.ordinal) {
				cut = append(cut, rank.Ordinal(i))
			}
			if of.unread.has(at.ordinal) {
				unread = append(unread, rank.Ordinal(i))
			}
		}
		n := len(order)
		return segmentReads{
			reads.cut.with(n, cut),
			reads.unread.with(n, unread),
			reads.unknown.with(n, unknown),
		}, len(unknown) < n, nil
	}
}

// writeReads writes the lists of a segment. Their names carry a number, as those of an
// expert's files.
func writeReads(
	d disk.Disk,
	dir string,
	reads segmentReads,
	passages int,
	number func() uint64,
) (*readsManifest, error) {
	out := &readsManifest{}
	for _, list := range []struct {
		name  string
		marks tombstones
		of    **marksManifest
	}{{"cut", reads.cut, &out.Cut}, {"unread", reads.unread, &out.Unread}, {"unknown", reads.unknown, &out.Unknown}} {
		n := list.marks.count()
		if n == 0 {
			continue
		}
		name := fmt.Sprintf("%s-%d", list.name, number())
		if err := d.WriteFile(filepath.Join(dir, name), list.marks.encode(passages)); err != nil {
			return nil, err
		}
		*list.of = &marksManifest{fileManifest{Name: name}, n}
	}
	return out, nil
}

// openReads reads the lists of a segment; nil: there are none.
func openReads(d disk.Disk, folder string, s *segmentManifest) (*segmentReads, error) {
	if s.Reads == nil {
		return nil, nil
	}
	out := &segmentReads{}
	for _, list := range []struct {
		of   *marksManifest
		into *tombstones
	}{{s.Reads.Cut, &out.cut}, {s.Reads.Unread, &out.unread}, {s.Reads.Unknown, &out.unknown}} {
		if list.of == nil {
			continue
		}
		var err error
		*list.into, err = readMarks(d, folder, list.of.fileManifest, s.Passages, list.of.Passages)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
