package disk

import (
	"bytes"
	"errors"
	"fmt"
)

// ChecksummedFile is a mapped file with a header, a body, and a checksum for each chunk of the body, which is verified
// when the chunk is first read. It does not change, and is safe for concurrent use until it is closed.
type ChecksummedFile struct {
	// noun for messages, such as "index of tags"
	what, path string
	mapping    *Mapping
	data       []byte
	from, to   uint64 // the body
	chunks     *Chunks
}

// OpenChecked maps a checked file; Close unmaps it. The body begins after `header` bytes. bodyOf returns where it
// ends, given all bytes of the file, at least `header`; the checksums of the body's chunks of 1<<shift bytes follow
// it. what names the kind of file in errors. It fails if the file is too short or bodyOf does, and reads none of
// the chunks.
func OpenChecked(
	d Disk,
	what, path string,
	header int,
	shift uint,
	bodyOf func(data []byte) (end uint64, err error),
) (*ChecksummedFile, error) {
	m, err := d.Map(path)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", what, path, err)
	}
	c, err := NewChecked(what, path, m.Data, header, shift, bodyOf)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	c.mapping = m
	return c, nil
}

// NewChecked returns a ChecksummedFile of the bytes data, which it shares. The body begins after header bytes and ends
// where bodyOf says; the checksums of its chunks of 1<<shift bytes follow it. what and path name the file in errors. It
// fails if data is shorter than header or bodyOf fails, and verifies no chunk.
func NewChecked(
	what, path string,
	data []byte,
	header int,
	shift uint,
	bodyOf func(data []byte) (end uint64, err error),
) (*ChecksummedFile, error) {
	if len(data) < header {
		return nil, fmt.Errorf("%s %s: the file is of another kind, or was cut off", what, path)
	}
	end, err := bodyOf(data)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", what, path, err)
	}
	return &ChecksummedFile{
		what: what, path: path, data: data, from: uint64(header), to: end,
		chunks: NewChunks(data[header:end], data[end:], shift),
	}, nil
}

// Close unmaps the file. Nothing may use its bytes afterwards. It fails if unmapping does.
func (c *ChecksummedFile) Close() error {
	c.data = nil
	if c.mapping == nil {
		return nil
	}
	return c.mapping.Close()
}

// Bytes returns the bytes from one offset of the file to another, within the body, after verifying their checksums.
// They are the file's own, must not be changed, and are valid until Close. It fails if the file is damaged there,
// or the offsets are outside of the body.
func (c *ChecksummedFile) Bytes(from, to uint64) ([]byte, error) {
	if from > to || from < c.from || to > c.to {
		return nil, c.Damaged("bytes %d to %d are to be read of %d", from, to, c.to)
	}
	if from < to {
		if err := c.chunks.Verify(from-c.from, to-c.from); err != nil {
			return nil, c.Damaged("behind the header %v", err)
		}
	}
	return c.data[from:to:to], nil
}

// Damaged returns the error of a damaged file, with a formatted reason and what to do.
func (c *ChecksummedFile) Damaged(format string, args ...any) error {
	return fmt.Errorf("%s %s: %s: the file is damaged; restore it from a snapshot, or index again",
		c.what, c.path, fmt.Sprintf(format, args...))
}

// Equal reports whether two open files have the same bytes. It reads both and verifies no checksum.
func (c *ChecksummedFile) Equal(d *ChecksummedFile) bool { return bytes.Equal(c.data, d.data) }
