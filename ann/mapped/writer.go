package mapped

import (
	"errors"
	"fmt"
	"hash/crc32"
	"unsafe"

	"example.org/conclave/internal/disk"
)

// Writer writes one file, section by section. Nothing appears under the
// file's name before Commit.
type Writer struct {
	path string
	file *disk.Replacement
	buf  []byte // what is not in the file yet
	err  error  // the first failure; nothing is written after it
	head header
	at   uint64
}

// bufferSize is how much is written to the file at once. It is large because the page
// cache then keeps large pages, which the processor's address translation prefers.
const bufferSize = 4 << 20

// Create begins a file of this kind (at most 16 bytes) and format version, and its first section. It appears at path
// only with Commit. The caller calls Commit or Abort. It fails if the folder cannot be written.
func Create(d disk.Disk, path, kind string, version uint64) (*Writer, error) {
	file, err := disk.Replace(d, path)
	if err != nil {
		return nil, fmt.Errorf("creating %s: %w", path, err)
	}
	w := &Writer{path: path, file: file, head: header{kind: kind, version: version}}
	if err := errors.Join(w.padTo(pageSize), w.Section()); err != nil {
		w.Abort()
		return nil, err
	}
	return w, nil
}

// append adds bytes to the file through the buffer, without counting them to a section. It returns the first error of
// the disk.
func (w *Writer) append(p []byte) error {
	w.at += uint64(len(p))
	for len(p) > 0 {
		n := min(len(p), bufferSize-len(w.buf))
		w.buf = append(w.buf, p[:n]...)
		p = p[n:]
		if len(w.buf) == bufferSize {
			if err := w.flush(); err != nil {
				return fmt.Errorf("writing %s: %w", w.path, err)
			}
		}
	}
	return nil
}

// flush writes the buffer to the file. After a failure it writes nothing more and returns the first error.
func (w *Writer) flush() error {
	if w.err == nil {
		_, w.err = w.file.Write(w.buf)
	}
	w.buf = w.buf[:0]
	return w.err
}

// padTo writes zeros up to an offset, which must not be before the present one. It returns the error of the disk.
func (w *Writer) padTo(to uint64) error { return w.append(make([]byte, to-w.at)) }

// Section ends the section and begins the next one. It fails if there are too many.
func (w *Writer) Section() error {
	if len(w.head.sections) == maxSections {
		return fmt.Errorf("writing %s: a file has at most %d sections", w.path, maxSections)
	}
	if err := w.padTo(alignPage(w.at)); err != nil {
		return err
	}
	w.head.sections = append(w.head.sections, section{offset: w.at})
	return nil
}

// Write appends bytes to the section. It returns len(p) also if it fails; Commit then fails too.
func (w *Writer) Write(p []byte) (int, error) {
	s := &w.head.sections[len(w.head.sections)-1]
	s.sum = crc32.Update(s.sum, castagnoli, p)
	s.length += uint64(len(p))
	return len(p), w.append(p)
}

// Append appends numbers to the section as they lie in memory, little-endian on the processors that are supported.
// The error is that of Write.
func Append[T ~uint8 | ~uint16 | ~uint32 | ~float32](w *Writer, values []T) error {
	if len(values) == 0 {
		return nil
	}
	_, err := w.Write(unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), len(values)*int(unsafe.Sizeof(values[0]))))
	return err
}

// Commit writes the header with these parameters and makes the file and its name durable. If it fails, it removes what
// was written.
func (w *Writer) Commit(parameters ...uint64) (err error) {
	defer func() {
		if err != nil {
			w.Abort()
			err = fmt.Errorf("writing %s: %w", w.path, err)
		}
	}()
	if len(parameters) > maxParameters {
		return fmt.Errorf("%d parameters; a header holds %d", len(parameters), maxParameters)
	}
	w.head.parameters = parameters
	if err := w.flush(); err != nil {
		return err
	}
	if _, err := w.file.WriteAt(w.head.encode(), 0); err != nil {
		return err
	}
	return w.file.Commit()
}

// Abort removes what was written. After Commit it does nothing, so that it can be deferred.
func (w *Writer) Abort() { w.file.Abort() }
