package folder

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store/folder/internal/manifest"
	"example.org/conclave/store/folder/internal/segmentfile"
)

// checkBuilt returns an error if the collection's first build was not completed.
func (w *writer) checkBuilt() error {
	if w.snapshot().Generation == 0 {
		return fmt.Errorf("the first build of %s was interrupted: build it again", w.dir)
	}
	return nil
}

// bury marks the passages with these ids as deleted in m and returns how many were not deleted before; unknown ids
// are ignored. m is the successor of the writer's manifest, with its segments in the same places. bury writes and
// syncs the new tombstones and takes out segments of which nothing is left. It runs inside publish. It fails if a
// file cannot be read or written, or ctx ends.
func (w *writer) bury(ctx context.Context, made *draft, m *manifest.Manifest, ids iter.Seq[string]) (int, error) {
	removed := make([][]rank.Ordinal, len(w.current.segments))
	n := 0
	for id := range ids {
		if n%256 == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		at, ordinal, ok, err := w.current.find(id)
		if err != nil {
			return 0, err
		}
		if ok {
			removed[at] = append(removed[at], ordinal) // an id that is given twice is one bit
		}
		n++
	}
	deleted := 0
	for at, ordinals := range removed {
		if len(ordinals) == 0 {
			continue
		}
		s := &m.Segments[at]
		before := m.Segments[at].Deleted
		if err := w.writeTombstones(made, s, w.current.segments[at].dead, ordinals); err != nil {
			return 0, err
		}
		deleted += s.Deleted - before
	}
	m.Segments = slices.DeleteFunc(m.Segments, func(s manifest.Segment) bool { return s.Deleted == s.Passages })
	return deleted, nil
}

// writeTombstones writes a tombstone file with dead and the given ordinals, syncs it, and sets it and the number of
// deleted passages in s. If nothing is left of the segment, it writes no file. It runs inside publish. It fails if
// the file cannot be written.
func (w *writer) writeTombstones(
	made *draft,
	s *manifest.Segment,
	dead segmentfile.Tombstones,
	ordinals []rank.Ordinal,
) error {
	dead = dead.With(s.Passages, ordinals)
	s.Deleted = dead.Count()
	if s.Deleted == s.Passages {
		return nil
	}
	name := fmt.Sprintf("deleted-%d", w.serial)
	w.serial++
	path := made.add(s.Name, name)
	data := dead.Encode(s.Passages)
	sum := disk.Sum(data)
	data = segmentfile.AppendSeal(data, sum)
	if err := w.disk.WriteFile(path, data); err != nil {
		return err
	}
	s.Tombstones = &manifest.SegmentFile{Name: name, Size: int64(len(data)), Sum: sum}
	if err := w.disk.SyncFile(path); err != nil {
		return err
	}
	return w.disk.SyncDir(filepath.Dir(path))
}
