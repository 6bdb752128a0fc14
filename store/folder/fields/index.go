package fields

import (
	"cmp"
	"encoding/binary"
	"errors"
	"sort"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/disk"
)

// An Index says which passages of a segment have which values in which fields. It does not change
// and is safe for concurrent use, until it is closed.
type Index struct {
	header
	*disk.ChecksummedFile
}

const fileKind = "index of fields"

// Open maps the file of an index. It reads the header and the checksums; the rest is checked when it is first read, so
// every other method may return an error of damage. Close unmaps the file.
func Open(d disk.Disk, path string) (*Index, error) {
	x := &Index{}
	var err error
	x.ChecksummedFile, err = disk.OpenChecked(d, fileKind, path, headerBytes, chunkBits, x.decode)
	if err != nil {
		return nil, err
	}
	return x, nil
}

// newIndex returns the index whose file has this content, which it keeps; path is for messages. It fails if the content
// is damaged.
func newIndex(path string, data []byte) (*Index, error) {
	x := &Index{}
	var err error
	x.ChecksummedFile, err = disk.NewChecked(fileKind, path, data, headerBytes, chunkBits, x.decode)
	if err != nil {
		return nil, err
	}
	return x, nil
}

// decode reads the header into x.header and returns the offset at which the checked body ends. It fails if the header
// is damaged.
func (x *Index) decode(data []byte) (end uint64, err error) {
	x.header, err = decodeHeader(data)
	return x.sumsAt(), err
}

// Passages returns the number of passages, with metadata or without.
func (x *Index) Passages() int { return int(x.passages) }

// Equal reports whether two indexes have the same content.
func (x *Index) Equal(y *Index) bool { return x.ChecksummedFile.Equal(y.ChecksummedFile) }

// bytes returns n bytes of the file from an offset in its body. It first compares the checksums of what was not checked
// yet. It fails if the bytes are damaged or not all in the body.
func (x *Index) bytes(from, n uint64) ([]byte, error) { return x.Bytes(from, from+n) }

// column is the place in the file of the values of one kind that a field has.
type column struct {
	index    *Index
	field    string
	kind     conditions.Kind
	data     uint64 // where its keys begin
	texts    uint64 // bytes
	distinct uint32
	count    uint32 // passages of all values
}

// startsAt returns the offset at which the starts begin: for each value, the number of its first passage among the
// ordinals.
func (c *column) startsAt() uint64 { return c.data + 8*uint64(c.distinct) }

// ordinalsAt returns the offset at which the passages of all values begin.
func (c *column) ordinalsAt() uint64 { return c.startsAt() + 4*(uint64(c.distinct)+1) }

// textsAt returns the offset at which the texts of words begin.
func (c *column) textsAt() uint64 { return c.ordinalsAt() + 4*uint64(c.count) }

// column returns column number i, in the order of fields and kinds. It fails if the file is damaged there.
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
		return c, x.Damaged("the record of column %d is impossible", i)
	}
	return c, nil
}

// find returns the column of a field's values of one kind; ok is false if no passage has such a value. It fails if
// the file is damaged.
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

// key returns value number i as a number (conditions.Datum.Key). Of words it is the offset of the text, and for i
// beyond the last the end of all texts. It fails if the file is damaged there.
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

// word returns the text of value number i of a column of words. It fails if the file is damaged there.
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
		return nil, c.index.Damaged("a word of the field %q ends before it begins", c.field)
	}
	return c.index.bytes(c.textsAt()+from, to-from)
}

// start returns the place among the ordinals at which the passages of value number i begin; for the number of values,
// the place at which all end. It fails if the file is damaged there.
func (c *column) start(i uint32) (uint32, error) {
	b, err := c.index.bytes(c.startsAt()+4*uint64(i), 4)
	if err != nil {
		return 0, err
	}
	at := binary.LittleEndian.Uint32(b)
	if at > c.count {
		return 0, c.index.Damaged("a value of the field %q has passages beyond the last", c.field)
	}
	return at, nil
}

// ordinals returns the passages of the values numbered from up to, but not including, to: a little-endian uint32
// each. It fails if the file is damaged there.
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
		return nil, c.index.Damaged("the values of the field %q are out of order", c.field)
	}
	return c.index.bytes(c.ordinalsAt()+4*uint64(first), 4*uint64(end-first))
}
