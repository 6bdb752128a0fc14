package documents

import (
	"archive/zip"
	"bytes"
	"io"
)

// OpenZip opens a zip archive whose list of files has at most so many bytes. A longer one is an
// *UnreadableError: the list is read into memory, some ten bytes for each of its own.
func OpenZip(data io.ReaderAt, size int64, listBytes int) (*zip.Reader, error) {
	list := &boundedReader{ReaderAt: data, left: listBytes + endBytes}
	archive, err := zip.NewReader(list, size)
	if list.left < 0 {
		return nil, unreadable(TooLarge, nil, "its list of files has more than %d MiB", listBytes>>20)
	}
	if err != nil {
		return nil, err
	}
	list.open = true
	return archive, nil
}

// endBytes is what is read of an archive to find where its list begins.
const endBytes = 128 << 10

// boundedReader reads some bytes until it is open, and all behind that.
type boundedReader struct {
	io.ReaderAt
	left int
	open bool
}

// ReadAt implements io.ReaderAt.
func (b *boundedReader) ReadAt(to []byte, at int64) (int, error) {
	if !b.open {
		b.left -= len(to)
		if b.left < 0 {
			return 0, io.ErrUnexpectedEOF
		}
	}
	return b.ReaderAt.ReadAt(to, at)
}

// listBytes bounds the list of the files in a document that is an archive, or is looked at as one.
const listBytes = 4 << 20

// openZip opens an archive in memory.
func openZip(data []byte) (*zip.Reader, error) {
	return OpenZip(bytes.NewReader(data), int64(len(data)), listBytes)
}
