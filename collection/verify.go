package collection

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"conclave/corpus"
	"conclave/rank"
)

// VerifyReport says what Verify read.
type VerifyReport struct {
	Generation uint64
	Segments   int
	Passages   int
	Experts    int
	Bytes      int64
	Pending    int // changes in the log that no segment holds yet
}

// verifyLog reads the log. Files of it that a writer removes meanwhile hold
// nothing that is not in a newer generation.
func (r *VerifyReport) verifyLog(dir string, m *manifest) error {
	err := eachLogged(osDisk{}, dir, m, func(_ uint64, kind changeKind, content []byte, _ logged) error {
		r.Pending++
		if kind == putChange {
			var p corpus.Passage
			if err := p.UnmarshalBinary(content); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Verify reads everything of the newest generation in dir and checks it: every
// checksum, every passage and its id, the postings, that the tags are those of
// the passages, the vectors and the invariants of the graphs, that counts agree, and that no id is in two
// segments. It needs no lock; it finishes with the generation it began with.
// The error names all that it found, of each file the first thing.
func Verify(ctx context.Context, dir string, progress func(Progress)) (VerifyReport, error) {
	var report VerifyReport
	c, err := Open(dir)
	if err != nil {
		return report, err
	}
	defer func() { _ = c.Close() }()
	g := c.Acquire()
	defer g.Release()
	r := &reporter{to: progress}
	m := g.manifest
	report = VerifyReport{Generation: m.Generation, Segments: len(m.Segments), Passages: g.Len(), Experts: len(m.Experts)}
	total := int64(0)
	for i := range m.Segments {
		for _, f := range m.Segments[i].files() {
			total += f.Size
		}
	}
	var errs []error
	for i := range m.Segments {
		s := &m.Segments[i]
		for _, f := range s.files() {
			described, err := describe(ctx, osDisk{}, filepath.Join(dir, s.Name), f.Name, f.Size-int64(sealBytes), func(n int64) {
				report.Bytes += n
				r.report(Progress{Stage: Verifying, Done: report.Bytes, Total: total, Unit: "bytes"})
			})
			if err == nil && described != f {
				err = fmt.Errorf("%s: its checksum is %s, the manifest says %s: the file is damaged", filepath.Join(dir, s.Name, f.Name), described.Sum, f.Sum)
			}
			errs = append(errs, err)
		}
		errs = append(errs, g.verifySegment(ctx, i))
		if err := ctx.Err(); err != nil {
			return report, err
		}
	}
	errs = append(errs, survive(func() error { return g.verifyIDs(ctx) }), report.verifyLog(dir, m))
	if err := errors.Join(errs...); err != nil {
		return report, fmt.Errorf("%w\nrestore the collection from a snapshot, or index again", err)
	}
	return report, nil
}

// verifySegment checks the inside of a segment's files.
func (g *Generation) verifySegment(ctx context.Context, at int) error {
	s := g.segments[at]
	errs := []error{
		survive(func() error { return s.store.Verify(ctx, nil) }), survive(s.words.Check), survive(func() error { return s.tags.verify(ctx) }),
	}
	for _, x := range g.manifest.Experts {
		if err := survive(s.vectors[x.Name].Check); err != nil {
			errs = append(errs, fmt.Errorf("expert %s in %s: %w", x.Name, s.name, err))
		}
	}
	return errors.Join(errs...)
}

// verifyIDs makes sure that no id is in two segments.
func (g *Generation) verifyIDs(ctx context.Context) error {
	for at, s := range g.segments[:max(0, len(g.segments)-1)] {
		for i := range rank.Ordinal(s.store.Len()) {
			if i%1024 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if s.dead.has(i) {
				continue
			}
			id, err := s.store.ID(i)
			if err != nil {
				return nil // told by the segment's own check
			}
			for _, other := range g.segments[at+1:] {
				if o, twice, err := other.store.Ordinal(id); err == nil && twice && !other.dead.has(o) {
					return fmt.Errorf("passage %q is in %s and in %s", id, s.name, other.name)
				}
			}
		}
	}
	return nil
}
