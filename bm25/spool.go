package bm25

import (
	"errors"
	"fmt"
	"io"

	"example.org/conclave/internal/disk"
)

// spool is bytes that are appended and then read once. With a folder, all but the last mebibyte of them are in a
// temporary file there.
type spool struct {
	disk   disk.Disk
	folder string // "": all is in memory
	last   []byte // the bytes after those in the file
	file   disk.File
	length uint64
	err    error // the first that the file gave; copyTo returns it
}

const spoolMemory = 1 << 20

// append adds the bytes in b, which may be reused. An error of the file is returned later, by copyTo or discard.
func (s *spool) append(b []byte) {
	s.last = append(s.last, b...)
	s.length += uint64(len(b))
	if s.folder == "" || len(s.last) < spoolMemory || s.err != nil {
		return
	}
	if s.file == nil {
		s.file, s.err = s.disk.CreateTemp(s.folder, "bm25-spool-*")
		if s.err == nil { // the system frees it when it is closed, or this program ends
			s.err = s.disk.Remove(s.file.Name())
		}
	}
	if s.err == nil {
		_, s.err = s.file.Write(s.last)
	}
	s.last = s.last[:0]
}

// copyTo writes all bytes to w and frees them. It returns the first error of the file or of w.
func (s *spool) copyTo(w io.Writer) error {
	if s.file != nil && s.err == nil {
		_, s.err = s.file.Seek(0, io.SeekStart)
		if s.err == nil {
			_, s.err = io.Copy(w, s.file)
		}
	}
	if s.err == nil {
		_, s.err = w.Write(s.last)
	}
	return s.discard()
}

// discard frees the bytes and the file, and returns the first error of the file, also an earlier one. A second call
// returns that error again, or nil.
func (s *spool) discard() error {
	s.last = nil
	if s.file != nil {
		s.err = errors.Join(s.err, s.file.Close())
		s.file = nil
	}
	if s.err != nil {
		return fmt.Errorf("a temporary file in %s: %w", s.folder, s.err)
	}
	return nil
}
