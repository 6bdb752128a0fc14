package folder

import (
	"context"
	"fmt"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store/folder/internal/wal"
)

// passages are the passages of a new segment, in the order of their ids: those of
// a store that was just written, of a flush (inMemory) or of a merge (takenOver).
type passages interface {
	Len() int
	Passage(o rank.Ordinal) (corpus.Passage, error)
	Tags(o rank.Ordinal) ([]string, error)
	Close() error
}

// inMemory is the passages of a flush.
type inMemory []corpus.Passage

// Len returns the number of passages.
func (p inMemory) Len() int { return len(p) }

// Passage returns the passage at a position. The error is always nil.
func (p inMemory) Passage(o rank.Ordinal) (corpus.Passage, error) { return p[o], nil }

// Tags returns the tags of the passage at a position. The error is always nil.
func (p inMemory) Tags(o rank.Ordinal) ([]string, error) { return p[o].Tags, nil }

// Close does nothing. The error is always nil.
func (p inMemory) Close() error { return nil }

// origin is a passage of a segment that is merged.
type origin struct {
	segment int
	ordinal rank.Ordinal
}

// takenOver is the passages of a merge, which it reads from the merged segments.
type takenOver struct {
	from  []*segment
	order []origin
}

// Len returns the number of passages that the merge keeps.
func (p takenOver) Len() int { return len(p.order) }

// Passage reads the passage at a position of the merged segment from the segment that it comes from. It fails if the
// file is damaged.
func (p takenOver) Passage(o rank.Ordinal) (corpus.Passage, error) {
	at := p.order[o]
	return p.from[at.segment].store.Passage(at.ordinal)
}

// Tags reads the tags of the passage at a position of the merged segment. It fails if the file is damaged.
func (p takenOver) Tags(o rank.Ordinal) ([]string, error) {
	at := p.order[o]
	return p.from[at.segment].store.Tags(at.ordinal)
}

// Close does nothing: the segments belong to the caller. The error is always nil.
func (p takenOver) Close() error { return nil }

// writeStore writes passages to a new file of texts at path. If it fails or ctx ends, it removes the file.
func writeStore(ctx context.Context, d disk.Disk, path string, from passages) error {
	store, err := corpus.CreateStore(d, path)
	if err != nil {
		return err
	}
	defer store.Abort()
	for o := range rank.Ordinal(from.Len()) {
		if o%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		p, err := from.Passage(o)
		if err != nil {
			return err
		}
		if err := store.Append(p); err != nil {
			return fmt.Errorf("passage %q: %w", p.ID, err)
		}
	}
	return store.Close()
}

// pendingPassages reads the passages with the given ids from the log. put must be sorted, and changes must have each
// id. It opens each file of the log once. It fails if a file is gone or damaged.
func pendingPassages(put []string, changes map[string]pendingChange) (out inMemory, err error) {
	files := map[*wal.LogIdentity]disk.File{}
	defer func() {
		for _, file := range files {
			_ = file.Close() // only read
		}
	}()
	for _, id := range put {
		at := changes[id].at
		if files[at.File] == nil {
			file, err := at.File.Disk.Open(at.File.Path)
			if err != nil {
				return nil, fmt.Errorf("reading passage %q from the log: %w", id, err)
			}
			files[at.File] = file
		}
		p, err := at.Passage(files[at.File])
		if err != nil {
			return nil, fmt.Errorf("reading passage %q from the log: %w", id, err)
		}
		out = append(out, p)
	}
	return out, nil
}
