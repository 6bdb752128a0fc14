package documents

import (
	"archive/zip"
	"bytes"
	"io"
)

// OpenZip opens a zip archive of `size` bytes, which it goes on reading from data. If its list of files has more
// than listBytes, the error is an *UnreadableError: the list takes about ten times as much memory. Other errors are
// those of archive/zip.
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

// endBytes is how many bytes at the end of an archive may be read to find where its list of files begins.
const endBytes = 128 << 10

// boundedReader reads at most `left` bytes as long as it is not open, and then without bound.
type boundedReader struct {
	io.ReaderAt
	left int
	open bool
}

// ReadAt reads bytes from an offset on, like io.ReaderAt, and fails when more than left bytes would be read while it is
// not open.
func (b *boundedReader) ReadAt(to []byte, at int64) (int, error) {
	if !b.open {
		b.left -= len(to)
		if b.left < 0 {
			return 0, io.ErrUnexpectedEOF
		}
	}
	return b.ReaderAt.ReadAt(to, at)
}

// listBytes is the largest list of files in an archive held in memory that openZip accepts.
const listBytes = 4 << 20

// openZip opens a zip archive held in memory, like OpenZip with the bound listBytes.
func openZip(data []byte) (*zip.Reader, error) {
	return OpenZip(bytes.NewReader(data), int64(len(data)), listBytes)
}
