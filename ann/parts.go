package ann

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync/atomic"

	"example.org/conclave/ann/graph"
	"example.org/conclave/ann/mapped"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

const (
	partsKind    = "parts"
	partsVersion = 1
)

// parts is an open file that says which vectors are a passage's, and of which parts
// of its text, memory-mapped. It does not change, so any number of goroutines may
// read it. A passage's vectors lie one after the other; that of a part is called a
// row.
//
// The first section is the begin and end of each row's part. The second is where the
// passages' rows begin: count+1 numbers, the last where the last one's end. A passage
// without rows has no vector. Parameters are count and rows.
type parts struct {
	file    *mapped.File
	count   int
	rows    int
	spans   []uint32
	offsets []uint32
	// whole is set once the checksums, offsets and spans were found right.
	whole atomic.Bool
}

// openParts maps a file that a PartsWriter wrote. The caller closes it. It fails if the header is damaged or of
// another kind. Its cost does not depend on the number of passages; Verify checks the rest.
func openParts(d disk.Disk, path string) (*parts, error) {
	file, err := mapped.Open(d, path, partsKind, partsVersion)
	if err != nil {
		return nil, err
	}
	count, rows := file.Parameter(0), file.Parameter(1)
	if count > graph.MaxRows || rows > graph.MaxRows {
		return nil, errors.Join(
			fmt.Errorf(
				"parts: the header of %s says %d passages with %d vectors, which is not possible: rebuild it", path,
				count, rows,
			),
			file.Close(),
		)
	}
	p := &parts{file: file, count: int(count), rows: int(rows)}
	p.spans, err = mapped.Values[uint32](file, 0, 2*p.rows)
	if err == nil {
		p.offsets, err = mapped.Values[uint32](file, 1, p.count+1)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return p, nil
}

// rowsOf returns the rows of a passage, from first up to, but not including, end. They are equal if there is no such
// passage, it has no vector, or the offsets are damaged.
func (p *parts) rowsOf(o rank.Ordinal) (first, end rank.Ordinal) {
	if int64(o) >= int64(p.count) {
		return 0, 0
	}
	first, end = rank.Ordinal(p.offsets[o]), rank.Ordinal(p.offsets[o+1])
	if first >= end || int64(end) > int64(p.rows) {
		return 0, 0
	}
	return first, end
}

// passage returns the passage of a row, which must be below p.rows.
func (p *parts) passage(row rank.Ordinal) rank.Ordinal {
	return rank.Ordinal(sort.Search(p.count, func(i int) bool { return p.offsets[i] > uint32(row) }) - 1)
}

// span returns the part of the passage's text, in bytes, that a row is the vector of.
func (p *parts) span(row rank.Ordinal) rank.Span {
	return rank.Span{Begin: p.spans[2*row], End: p.spans[2*row+1]}
}

// Verify compares the file's checksums and checks that rows and parts lie in order, unless that was done. It returns
// a *DamageError, or ctx's error if that ends first.
func (p *parts) Verify(ctx context.Context) error {
	if p.whole.Load() {
		return nil
	}
	err := p.file.Verify(ctx)
	if err == nil {
		err = p.checkRows()
	}
	p.whole.Store(err == nil)
	return err
}

// Check reads the whole file, even if Verify has, and returns an error if it is damaged.
func (p *parts) Check() error { return errors.Join(p.file.Check(), p.checkRows()) }

// checkRows returns a *DamageError if rows do not lie one after the other, or a part ends before it begins.
func (p *parts) checkRows() error {
	damaged := func(format string, args ...any) error {
		return &DamageError{Path: p.file.Path(), What: fmt.Sprintf(format, args...)}
	}
	if first, end := p.offsets[0], p.offsets[p.count]; first != 0 || int64(end) != int64(p.rows) {
		return damaged("its %d rows are said to be those from %d to %d", p.rows, first, end)
	}
	for i := range p.count {
		if first, end := p.offsets[i], p.offsets[i+1]; first > end {
			return damaged("passage %d has the rows from %d to %d", i, first, end)
		}
	}
	for i := range p.rows {
		if s := p.span(rank.Ordinal(i)); s.Begin > s.End {
			return damaged("row %d is of the bytes from %d to %d", i, s.Begin, s.End)
		}
	}
	return nil
}

// PartsWriter writes the file that says of which parts of passages the vectors of an
// index are. It is not safe for concurrent use.
type PartsWriter struct {
	out     *mapped.Writer
	offsets []uint32
	pairs   []uint32
}

// CreateParts begins the file of parts at path. It appears there only when Close succeeds. It fails if the folder
// cannot be written.
func CreateParts(d disk.Disk, path string) (*PartsWriter, error) {
	out, err := mapped.Create(d, path, partsKind, partsVersion)
	if err != nil {
		return nil, err
	}
	return &PartsWriter{out: out, offsets: []uint32{0}}, nil
}

// Append adds the next passage, with a part of its text for each of its vectors, in their order; none for a passage
// without a vector. It fails if a part ends before it begins, or the file is full.
func (w *PartsWriter) Append(spans []rank.Span) error {
	end := w.offsets[len(w.offsets)-1]
	if uint64(end)+uint64(len(spans)) > graph.MaxRows || len(w.offsets) > graph.MaxRows {
		return fmt.Errorf("parts: a file holds at most %d", graph.MaxRows)
	}
	w.pairs = w.pairs[:0]
	for _, s := range spans {
		if s.Begin > s.End {
			return fmt.Errorf("parts: passage %d has one from byte %d to byte %d", len(w.offsets)-1, s.Begin, s.End)
		}
		w.pairs = append(w.pairs, s.Begin, s.End)
	}
	w.offsets = append(w.offsets, end+uint32(len(spans)))
	return mapped.Append(w.out, w.pairs)
}

// Close makes the file durable and gives it its name. If it fails, no file is left.
func (w *PartsWriter) Close() error {
	if err := errors.Join(w.out.Section(), mapped.Append(w.out, w.offsets)); err != nil {
		w.out.Abort()
		return err
	}
	count := len(w.offsets) - 1
	return w.out.Commit(uint64(count), uint64(w.offsets[count]))
}

// Abort removes what was written. After Close it does nothing, so it can be deferred.
func (w *PartsWriter) Abort() { w.out.Abort() }
