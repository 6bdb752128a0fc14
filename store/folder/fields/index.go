package fields

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"sort"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/disk"
)

// An Index says which passages of a segment have which values in which fields. It does not change
// and is safe for concurrent use, until it is closed.
type Index struct {
	header
	path    string
	data    []byte
	mapping *disk.Mapping
	chunks  *disk.Chunks // of all between the header and the checksums
}

// Open maps the file of an index. See its format for what it reads.
func Open(d disk.Disk, path string) (*Index, error) {
	m, err := d.Map(path)
	if err != nil {
		return nil, fmt.Errorf("index of fields %s: %w", path, err)
	}
	x, err := newIndex(path, m.Data, m)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return x, nil
}

func newIndex(path string, data []byte, mapping *disk.Mapping) (*Index, error) {
	h, err := decodeHeader(data)
	if err != nil {
		return nil, fmt.Errorf("index of fields %s: %w", path, err)
	}
	return &Index{
		header:  h,
		path:    path,
		data:    data,
		mapping: mapping,
		chunks:  disk.NewChunks(data[headerBytes:h.sumsAt()], data[h.sumsAt():], chunkBits),
	}, nil
}

// Close unmaps the file. Nothing may use the index afterwards.
func (x *Index) Close() error {
	x.data = nil
	return x.mapping.Close()
}

// Passages returns the number of passages, with metadata or without.
func (x *Index) Passages() int { return int(x.passages) }

// Equal reports whether two indexes say the same.
func (x *Index) Equal(y *Index) bool { return bytes.Equal(x.data, y.data) }

// bytes returns a stretch of the file behind the header whose checksums are right.
func (x *Index) bytes(from, n uint64) ([]byte, error) {
	to := from + n
	if from > to || from < headerBytes || to > x.sumsAt() {
		return nil, x.damaged("bytes %d to %d are wanted of %d", from, to, x.sumsAt())
	}
	if n > 0 {
		if err := x.chunks.Verify(from-headerBytes, to-headerBytes); err != nil {
			return nil, x.damaged("behind the header %v", err)
		}
	}
	return x.data[from:to:to], nil
}

func (x *Index) damaged(format string, args ...any) error {
	return fmt.Errorf(
		"index of fields %s: %s: the file is damaged; restore it from a snapshot, or index again",
		x.path,
		fmt.Sprintf(format, args...),
	)
}

// column is where the values of a field are that are of one kind.
type column struct {
	index    *Index
	field    string
	kind     conditions.Kind
	data     uint64 // where its keys begin
	texts    uint64 // bytes
	distinct uint32
	count    uint32 // passages of all values
}

func (c *column) startsAt() uint64   { return c.data + 8*uint64(c.distinct) }
func (c *column) ordinalsAt() uint64 { return c.startsAt() + 4*(uint64(c.distinct)+1) }
func (c *column) textsAt() uint64    { return c.ordinalsAt() + 4*uint64(c.count) }

func (x *Index) column(i int) (c column, err error) {
	b, err := x.bytes(headerBytes+recordBytes*uint64(i), recordBytes)
	if err != nil {
		return c, err
	}
	le := binary.LittleEndian
	field, err := x.bytes(le.Uint64(b), uint64(le.Uint32(b[24:])))
	if err != nil {
		return c, err
	}
	c = column{
		index: x, field: string(field), kind: conditions.Kind(le.Uint32(b[28:])),
		data: le.Uint64(b[8:]), texts: le.Uint64(b[16:]), distinct: le.Uint32(b[32:]), count: le.Uint32(b[36:]),
	}
	if c.data > x.sumsAt() || c.texts > x.sumsAt() || c.textsAt()+c.texts > x.sumsAt() || c.distinct > c.count {
		return c, x.damaged("the record of column %d is impossible", i)
	}
	return c, nil
}

// find bisects for the column of a field; ok is false where no passage has such a value.
func (x *Index) find(field string, kind conditions.Kind) (c column, ok bool, err error) {
	at := sort.Search(int(x.columns), func(i int) bool {
		c, failed := x.column(i)
		err = errors.Join(err, failed)
		return cmp.Or(cmp.Compare(c.field, field), cmp.Compare(c.kind, kind)) >= 0
	})
	if err != nil || at == int(x.columns) {
		return c, false, err
	}
	c, err = x.column(at)
	return c, c.field == field && c.kind == kind, err
}

// key returns the value of a number; of words, where its text begins.
func (c *column) key(i uint32) (uint64, error) {
	if i >= c.distinct {
		return c.texts, nil
	}
	b, err := c.index.bytes(c.data+8*uint64(i), 8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// word returns the text of a value.
func (c *column) word(i uint32) ([]byte, error) {
	from, err := c.key(i)
	if err != nil {
		return nil, err
	}
	to, err := c.key(i + 1)
	if err != nil {
		return nil, err
	}
	if from > to || to > c.texts {
		return nil, c.index.damaged("a word of the field %q ends before it begins", c.field)
	}
	return c.index.bytes(c.textsAt()+from, to-from)
}

// start returns where the passages of a value begin among the ordinals.
func (c *column) start(i uint32) (uint32, error) {
	b, err := c.index.bytes(c.startsAt()+4*uint64(i), 4)
	if err != nil {
		return 0, err
	}
	at := binary.LittleEndian.Uint32(b)
	if at > c.count {
		return 0, c.index.damaged("a value of the field %q has passages beyond the last", c.field)
	}
	return at, nil
}

// ordinals returns the passages of the values from one up to another, 4 bytes each.
func (c *column) ordinals(from, to uint32) ([]byte, error) {
	first, err := c.start(from)
	if err != nil {
		return nil, err
	}
	end, err := c.start(to)
	if err != nil {
		return nil, err
	}
	if first > end {
		return nil, c.index.damaged("the values of the field %q are out of order", c.field)
	}
	return c.index.bytes(c.ordinalsAt()+4*uint64(first), 4*uint64(end-first))
}
