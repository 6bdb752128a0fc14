package bm25

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/zeebo/xxh3"

	"example.org/conclave/internal/disk"
)

// An Index is an open segment: a file mapped into memory. It is safe for
// concurrent use until Close. A Searcher searches one or several.
type Index struct {
	*footer
	path    string
	data    []byte
	mapping *disk.Mapping
	impacts []impact // by rank
	codes   []uint32 // ranks
	chunks  *disk.Chunks
	forms   func() (formRange, error) // findForms, once
}

// Open maps the file of a segment. It reads the footer, the checksums and the impacts; the rest is verified when it is
// first used, or by Check. It fails if the file is no such index, of another format, or damaged. The caller closes it.
func Open(d disk.Disk, path string) (*Index, error) {
	x, err := open(d, path)
	if err != nil {
		return nil, fmt.Errorf("opening word index %q: %w", path, err)
	}
	return x, nil
}

// open maps the file of an index and reads its footer, checksums and impacts. It fails, and leaves nothing mapped, if
// the file is no index or these are damaged.
func open(d disk.Disk, path string) (x *Index, err error) {
	m, err := d.Map(path)
	if err != nil {
		return nil, err
	}
	if len(m.Data) < footerSize+len(magic) {
		return nil, errors.Join(errNotIndex, m.Close())
	}
	x = &Index{path: path, data: m.Data, mapping: m}
	x.forms = sync.OnceValues(x.findForms)
	if err := x.readFooter(); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return x, nil
}

// readFooter reads what a search needs at once: the footer, the checksums and the impacts. It fails if they are
// damaged.
func (x *Index) readFooter() (err error) {
	if string(x.data[:len(magic)]) != magic {
		return errNotIndex
	}
	size := len(x.data)
	x.footer, err = decodeFooter(x.data[size-footerSize:], uint64(size))
	if err != nil {
		return err
	}
	sums := x.sections[sectionChecksums]
	if xxh3.Hash(x.data[sums.offset:sums.offset+sums.length]) != x.sums {
		return errors.New("the checksum of the checksums is wrong: the file is damaged")
	}
	x.chunks = disk.NewChunks(x.data[:sums.offset], x.data[sums.offset:sums.offset+sums.length], chunkBits)

	b, err := x.bytes(sectionImpacts, 0, x.sections[sectionImpacts].length)
	if err != nil {
		return err
	}
	x.impacts = make([]impact, len(b)/impactSize)
	for i := range x.impacts {
		x.impacts[i] = impact{binary.LittleEndian.Uint32(b[impactSize*i:]), binary.LittleEndian.Uint32(b[impactSize*i+4:])}
		if x.impacts[i].tf == 0 || x.impacts[i].length == 0 {
			return fmt.Errorf("impact %d is of a term that does not occur", i)
		}
	}
	b, err = x.bytes(sectionCodes, 0, x.sections[sectionCodes].length)
	if err != nil {
		return err
	}
	x.codes = make([]uint32, len(b)/4)
	for i := range x.codes {
		x.codes[i] = binary.LittleEndian.Uint32(b[4*i:])
		if uint64(x.codes[i]) >= uint64(len(x.impacts)) {
			return fmt.Errorf("code %d stands for rank %d of %d", i, x.codes[i], len(x.impacts))
		}
	}
	return nil
}

// Close unmaps the file. Nothing may use the index any more. It fails if unmapping does.
func (x *Index) Close() error {
	x.data = nil
	return x.mapping.Close()
}

// Docs returns the number of passages.
func (x *Index) Docs() int { return int(x.passages) }

// Terms returns the number of terms in all passages, repetitions counted.
func (x *Index) Terms() int { return int(x.tokens) }

// Vocabulary returns the number of distinct terms, phrases included.
func (x *Index) Vocabulary() int { return int(uint64(x.terms) + x.phrases) }

// Params returns the parameters that the index was built with.
func (x *Index) Params() Params { return x.params }

// Size returns the file's size in bytes.
func (x *Index) Size() int64 { return int64(len(x.data)) }

// bytes returns length bytes of a section from an offset, in place, and verifies their checksums first. It returns a
// *DamageError if they are damaged or not all in the section.
func (x *Index) bytes(section int, from, length uint64) ([]byte, error) {
	s := x.sections[section]
	if from > s.length || length > s.length-from {
		return nil, x.damaged("section %d has %d bytes and %d+%d are wanted", section, s.length, from, length)
	}
	from += s.offset
	if length > 0 {
		if err := x.verify(from, from+length); err != nil {
			return nil, err
		}
	}
	return x.data[from : from+length : from+length], nil
}

// Check verifies the checksums of the whole file and returns a *DamageError if one is wrong.
func (x *Index) Check() error { return x.verify(0, x.sections[sectionChecksums].offset) }

// verify compares the checksums of the chunks with data[from:to] that were not verified yet, and returns a
// *DamageError if one is wrong. from must be below to.
func (x *Index) verify(from, to uint64) error {
	if err := x.chunks.Verify(from, to); err != nil {
		return x.damaged("%v", err)
	}
	return nil
}

// damaged returns a *DamageError that says what cannot be right.
func (x *Index) damaged(format string, args ...any) error {
	return &DamageError{Path: x.path, What: fmt.Sprintf(format, args...)}
}

// A DamageError says that an index file is not as it was written.
type DamageError struct {
	Path string // the file
	What string // what is wrong with it
}

// Error says which file is damaged, how, and to restore it or index again.
func (e *DamageError) Error() string {
	return fmt.Sprintf(
		"word index %q is damaged: %s (restore the file from a snapshot, or index the passages again)", e.Path, e.What,
	)
}
