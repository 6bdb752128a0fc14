package mapped

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"unsafe"

	"example.org/conclave/internal/disk"
)

// File is an open, memory-mapped file. Its sections may be read by any number
// of goroutines until Close.
type File struct {
	path    string
	mapping *disk.Mapping
	data    []byte // the mapping's
	head    *header

	verified verification
}

// Open maps a file of this kind and format version; the caller closes it. It reads only the header page, whatever the
// file's size. It fails if the header is damaged, says another kind or version, or does not fit the file's size.
func Open(d disk.Disk, path, kind string, version uint64) (*File, error) {
	f, err := open(d, path, kind, version)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	return f, nil
}

// open maps a file of this kind and format version and reads its header page alone. It fails if the header is damaged,
// says another kind or version, or does not fit the file's size; its errors do not name the file.
func open(d disk.Disk, path, kind string, version uint64) (*File, error) {
	m, err := d.Map(path)
	if err != nil {
		if known := new(fs.PathError); errors.As(err, &known) {
			return nil, known.Err // the path is said by the caller
		}
		return nil, err
	}
	head, err := decodeHeader(m.Data, uint64(len(m.Data)), kind, version)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	f := &File{path: path, mapping: m, data: m.Data, head: head}
	f.verified.turn = make(chan struct{}, 1)
	return f, nil
}

// Path returns the name that the file was opened by.
func (f *File) Path() string { return f.path }

// Parameter returns number i of those that were given to Commit; 0 if there were fewer.
func (f *File) Parameter(i int) uint64 {
	if i >= len(f.head.parameters) {
		return 0
	}
	return f.head.parameters[i]
}

// Sections returns the number of sections.
func (f *File) Sections() int { return len(f.head.sections) }

// Sum returns a checksum of the header, and so of the whole file: the header has the sections' checksums.
func (f *File) Sum() uint32 { return crc32.Checksum(f.data[:sumAt], castagnoli) }

// Values returns section i as count numbers, in place and unverified, valid until Close; nil if count is 0. It fails
// if there is no such section or it has another size.
func Values[T ~uint8 | ~uint16 | ~uint32 | ~float32](f *File, i, count int) ([]T, error) {
	b, err := f.Bytes(i)
	if err != nil {
		return nil, err
	}
	var one T
	size := int(unsafe.Sizeof(one))
	if count < 0 || count > len(b)/size || count*size != len(b) {
		return nil, fmt.Errorf(
			"section %d of %s has %d bytes where %d numbers of %d bytes belong: rebuild it", i, f.path, len(b), count,
			size,
		)
	}
	if count == 0 {
		return nil, nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), count), nil
}

// Bytes returns section i, from 0, in place and unverified, valid until Close. It fails if there is none.
func (f *File) Bytes(i int) ([]byte, error) {
	if i >= len(f.head.sections) {
		return nil, fmt.Errorf("%s has %d sections, not %d: rebuild it", f.path, len(f.head.sections), i+1)
	}
	s := f.head.sections[i]
	return f.data[s.offset : s.offset+s.length : s.offset+s.length], nil
}

// Close unmaps the file. No section may be read any more. A second call returns nil. It fails if unmapping does.
func (f *File) Close() error {
	if f.data == nil {
		return nil
	}
	f.data = nil
	if err := f.mapping.Close(); err != nil {
		return fmt.Errorf("closing %s: %w", f.path, err)
	}
	return nil
}
