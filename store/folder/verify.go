package folder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
	"example.org/conclave/store/folder/internal/segmentfile"
	"example.org/conclave/store/folder/internal/wal"
)

// VerifyReport says what Verify read.
type VerifyReport struct {
	Generation uint64 `json:"generation"`
	Segments   int    `json:"segments"`
	Passages   int    `json:"passages"`
	Experts    int    `json:"experts"`
	Bytes      int64  `json:"bytes"`   // read and compared with their checksums
	Pending    int    `json:"pending"` // changes in the log that no segment holds yet
}

// verifyLog reads the log of the newest generation, sets r.Pending to the number of its changes that no segment holds
// yet, and returns an error if the log is damaged.
func (r *VerifyReport) verifyLog(dir string) error {
	return withNewest(disk.OS{}, dir, func(m *manifest.Manifest) error {
		for {
			r.Pending = 0
			count := func(_ uint64, kind wal.Kind, content []byte, _ wal.ContentPlace) error {
				r.Pending++
				if kind == wal.Put {
					var p corpus.Passage
					return p.UnmarshalBinary(content)
				}
				return nil
			}
			err := wal.Each(disk.OS{}, dir, m.ID, m.Applied, count)
			if !errors.Is(err, os.ErrNotExist) { // a writer removes files whose changes are in segments
				return err
			}
		}
	})
}

// heldFiles are open files of a generation. They can be read although a writer has
// removed them.
type heldFiles map[string]*os.File // by path

// holdNewest opens the newest generation and all its files, so that they can be read to the end whatever a writer
// removes. The caller closes both. It fails if there is no collection or a file cannot be opened; nothing stays open
// then.
func holdNewest(dir string) (c *Collection, held heldFiles, err error) {
	err = withNewest(disk.OS{}, dir, func(*manifest.Manifest) (err error) {
		c, err = Open(dir)
		if err != nil {
			return err
		}
		held = heldFiles{}
		err = held.open(dir, c.current.manifest)
		if err != nil {
			held.close()
			err = errors.Join(err, c.Close())
		}
		return err
	})
	return c, held, err
}

// open opens the files that a manifest names. On an error, the caller still closes h. dir is the collection's folder.
func (h heldFiles) open(dir string, m *manifest.Manifest) error {
	for i := range m.Segments {
		s := &m.Segments[i]
		for _, f := range s.Files() {
			path := filepath.Join(dir, s.Name, f.Name)
			file, err := os.Open(path)
			if err != nil {
				return err
			}
			h[path] = file
		}
	}
	return nil
}

// close closes the files.
func (h heldFiles) close() {
	for _, file := range h {
		_ = file.Close() // only read
	}
}

// Verify reads everything of the newest generation in dir and checks it: checksums, passages and ids, postings, tags,
// metadata, vectors, graphs, counts, the log, that no id is in two segments, and that a next generation can be made. It
// needs no lock and finishes with the generation that it began with. The error names the first fault of each file.
// progress may be nil.
func Verify(ctx context.Context, dir string, progress func(store.Progress)) (VerifyReport, error) {
	var report VerifyReport
	c, held, err := holdNewest(dir)
	if err != nil {
		return report, err
	}
	defer func() { _ = c.Close() }()
	defer held.close()
	g := c.Acquire()
	defer g.Release()
	r := &reporter{to: progress}
	m := g.manifest
	report = VerifyReport{Generation: m.Generation, Segments: len(m.Segments), Passages: g.Len(), Experts: len(m.Experts)}
	total := int64(0)
	for i := range m.Segments {
		for _, f := range m.Segments[i].Files() {
			total += f.Size
		}
	}
	var errs []error
	for i := range m.Segments {
		s := &m.Segments[i]
		for _, f := range s.Files() {
			path := filepath.Join(dir, s.Name, f.Name)
			content := io.LimitReader(held[path], f.Size-int64(segmentfile.SealBytes))
			described, err := segmentfile.Describe(ctx, content, f.Name, func(n int64) {
				report.Bytes += n
				r.report(store.Progress{Stage: store.Verifying, Done: report.Bytes, Total: total, Unit: "bytes"})
			})
			if err == nil && described != f {
				err = fmt.Errorf("%s: its checksum is %s, the manifest says %s: the file is damaged", path, described.Sum, f.Sum)
			}
			errs = append(errs, err)
		}
		errs = append(errs, g.verifySegment(ctx, i))
		if err := ctx.Err(); err != nil {
			return report, err
		}
	}
	errs = append(errs, disk.Survive(func() error { return g.verifyIDs(ctx) }), report.verifyLog(dir), checkNext(m))
	if err := errors.Join(errs...); err != nil {
		return report, fmt.Errorf("%w\nrestore the collection from a snapshot, or index again", err)
	}
	return report, nil
}

// KeptCopies returns the SHA-256 of each uploaded file of which the collection in dir keeps a copy, with the id of a
// document that was read from it. It reads all live passages. The map is empty and not nil if there is none. It fails
// if a file cannot be opened or a passage not be read.
func KeptCopies(ctx context.Context, dir string) (documents map[string]string, err error) {
	c, err := Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	g := c.Acquire()
	defer g.Release()
	documents = map[string]string{}
	err = disk.Survive(func() error {
		for _, s := range g.segments {
			if err := s.addKeptCopies(ctx, documents); err != nil {
				return err
			}
		}
		return nil
	})
	return documents, err
}

// addKeptCopies adds to documents the files that live passages of a segment come from and of which a copy is kept.
// See KeptCopies. It fails if a passage cannot be read or ctx ends.
func (s *segment) addKeptCopies(ctx context.Context, documents map[string]string) error {
	for i := range rank.Ordinal(s.store.Len()) {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if s.dead.Has(i) {
			continue
		}
		p, err := s.store.Passage(i)
		if err != nil {
			return err
		}
		if d, _, ok := corpus.DocumentOf(&p); ok && d.Original == corpus.OriginalCopy {
			documents[d.SHA256] = d.ID
		}
	}
	return nil
}

// verifySegment reads the files of segment at and returns what is wrong in each. It returns nil if nothing is.
func (g *Generation) verifySegment(ctx context.Context, at int) error {
	s := g.segments[at]
	errs := []error{
		disk.Survive(
			func() error { return s.store.Verify(ctx, nil) },
		), disk.Survive(s.words.Check), disk.Survive(func() error { return verifyTags(ctx, s.tags, s.store) }),
	}
	errs = append(
		errs, disk.Survive(func() error { _, err := s.spelled.read(); return err }),
		disk.Survive(func() error { return s.copies.verify(ctx, s.store) }),
		disk.Survive(func() error { return verifyFields(ctx, s.fields, s.store) }),
	)
	for _, x := range g.manifest.Keepers() {
		if err := disk.Survive(func() error { return checkVectors(s.vectors[x.Name], s.store) }); err != nil {
			errs = append(errs, fmt.Errorf("expert %s in %s: %w", x.Name, s.name, err))
		}
	}
	return errors.Join(errs...)
}

// verifyIDs returns an error if a live id is in two segments. It stops without an error at an id that cannot be read,
// which the segment's check reports.
func (g *Generation) verifyIDs(ctx context.Context) error {
	for at, s := range g.segments[:max(0, len(g.segments)-1)] {
		for i := range rank.Ordinal(s.store.Len()) {
			if i%1024 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if s.dead.Has(i) {
				continue
			}
			id, err := s.store.ID(i)
			if err != nil {
				return nil // told by the segment's own check
			}
			for _, other := range g.segments[at+1:] {
				if o, twice, err := other.store.Ordinal(id); err == nil && twice && !other.dead.Has(o) {
					return fmt.Errorf("passage %q is in %s and in %s", id, s.name, other.name)
				}
			}
		}
	}
	return nil
}
