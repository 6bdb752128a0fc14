package disk

import (
	"bytes"
	"errors"
	"fmt"
)

// Checked is a mapped file of a header, a body, and a checksum for each chunk of the body, which is compared when
// the chunk is first read. It does not change and is safe for concurrent use, until it is closed.
type Checked struct {
	what, path string // for messages: "index of tags"
	mapping    *Mapping
	data       []byte
	from, to   uint64 // the body
	chunks     *Chunks
}

// OpenChecked maps a file. bodyOf says where its body ends, by all its bytes, of which there are at least as many as a
// header has; what is behind the body are the checksums of its chunks of 1<<shift bytes. Errors say what the file is.
func OpenChecked(
	d Disk,
	what, path string,
	header int,
	shift uint,
	bodyOf func(data []byte) (end uint64, err error),
) (*Checked, error) {
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

// NewChecked returns bytes as OpenChecked returns those of a file.
func NewChecked(
	what, path string,
	data []byte,
	header int,
	shift uint,
	bodyOf func(data []byte) (end uint64, err error),
) (*Checked, error) {
	if len(data) < header {
		return nil, fmt.Errorf("%s %s: it is none, or it was cut off", what, path)
	}
	end, err := bodyOf(data)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", what, path, err)
	}
	return &Checked{
		what: what, path: path, data: data, from: uint64(header), to: end,
		chunks: NewChunks(data[header:end], data[end:], shift),
	}, nil
}

// Close unmaps the file. Nothing may use it afterwards.
func (c *Checked) Close() error {
	c.data = nil
	if c.mapping == nil {
		return nil
	}
	return c.mapping.Close()
}

// Bytes returns a stretch of the body, by its place in the file, whose checksums are right.
func (c *Checked) Bytes(from, to uint64) ([]byte, error) {
	if from > to || from < c.from || to > c.to {
		return nil, c.Damaged("bytes %d to %d are wanted of %d", from, to, c.to)
	}
	if from < to {
		if err := c.chunks.Verify(from-c.from, to-c.from); err != nil {
			return nil, c.Damaged("behind the header %v", err)
		}
	}
	return c.data[from:to:to], nil
}

// Damaged returns the error of a file whose bytes cannot be right.
func (c *Checked) Damaged(format string, args ...any) error {
	return fmt.Errorf("%s %s: %s: the file is damaged; restore it from a snapshot, or index again",
		c.what, c.path, fmt.Sprintf(format, args...))
}

// Equal reports whether two files have the same bytes.
func (c *Checked) Equal(d *Checked) bool { return bytes.Equal(c.data, d.data) }
