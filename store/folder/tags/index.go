package tags

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"example.org/conclave/internal/disk"
)

// An Index says which passages of a segment have which tags. It does not change
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
		return nil, fmt.Errorf("index of tags %s: %w", path, err)
	}
	if len(m.Data) < headerBytes {
		return nil, errors.Join(fmt.Errorf("index of tags %s: it is no index of tags, or it was cut off", path), m.Close())
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
		return nil, fmt.Errorf("index of tags %s: %w", path, err)
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

// Passages returns the number of passages, with tags or without.
func (x *Index) Passages() int { return int(x.passages) }

// bytes returns a stretch of the file behind the header whose checksums are right.
func (x *Index) bytes(from, to uint64) ([]byte, error) {
	if from > to || from < headerBytes || to > x.sumsAt() {
		return nil, x.damaged("bytes %d to %d are wanted of %d", from, to, x.sumsAt())
	}
	if from < to {
		if err := x.chunks.Verify(from-headerBytes, to-headerBytes); err != nil {
			return nil, x.damaged("behind the header %v", err)
		}
	}
	return x.data[from:to:to], nil
}

// record is what is known of a tag.
type record struct {
	text, textEnd         uint64 // in the section of texts
	postings, postingsEnd uint64 // in the section of postings
	count, kind           uint32
}

func (x *Index) record(i uint32) (record, error) {
	at := headerBytes + recordBytes*uint64(i)
	b, err := x.bytes(at, at+2*recordBytes) // the next one's beginning is this one's end
	if err != nil {
		return record{}, err
	}
	le := binary.LittleEndian
	r := record{text: le.Uint64(b), postings: le.Uint64(b[8:]), count: le.Uint32(b[16:]), kind: le.Uint32(b[20:])}
	r.textEnd, r.postingsEnd = le.Uint64(b[recordBytes:]), le.Uint64(b[recordBytes+8:])
	if r.text >= r.textEnd || r.textEnd > x.texts || r.postings >= r.postingsEnd || r.postingsEnd > x.header.postings ||
		r.kind >= kinds ||
		r.count == 0 {
		return r, x.damaged("the record of tag %d is impossible", i)
	}
	return r, nil
}

func (x *Index) text(r record) ([]byte, error) {
	return x.bytes(x.textsAt()+r.text, x.textsAt()+r.textEnd)
}

// find bisects for a tag.
func (x *Index) find(tag string) (r record, ok bool, err error) {
	low := uint32(0)
	high := x.tags
	for low < high {
		middle := low + (high-low)/2
		r, err := x.record(middle)
		if err != nil {
			return r, false, err
		}
		text, err := x.text(r)
		if err != nil {
			return r, false, err
		}
		switch order := bytes.Compare(text, []byte(tag)); {
		case order == 0:
			return r, true, nil
		case order < 0:
			low = middle + 1
		default:
			high = middle
		}
	}
	return record{}, false, nil
}

func (x *Index) damaged(format string, args ...any) error {
	return fmt.Errorf(
		"index of tags %s: %s: the file is damaged; restore it from a snapshot, or index again",
		x.path,
		fmt.Sprintf(format, args...),
	)
}

// Check reads everything and verifies every checksum and that the tags and
// their passages hang together.
func (x *Index) Check() error {
	if _, err := x.bytes(headerBytes, x.sumsAt()); err != nil {
		return err
	}
	text, postings := uint64(0), uint64(0)
	var before []byte
	bits := make([]uint64, (uint64(x.passages)+63)/64)
	for i := range x.tags {
		r, err := x.record(i)
		if err != nil {
			return err
		}
		tag, err := x.text(r)
		if err != nil {
			return err
		}
		if r.text != text || r.postings != postings || i > 0 && bytes.Compare(before, tag) >= 0 {
			return x.damaged("tag %d (%q) does not follow %q", i, tag, before)
		}
		text = r.textEnd
		postings = r.postingsEnd
		before = tag
		clear(bits)
		if err := x.mark(r, bits); err != nil {
			return err
		}
	}
	if text != x.texts || postings != x.header.postings {
		return x.damaged("there are texts or postings without a tag")
	}
	return nil
}

// Equal reports whether two indexes say the same.
func (x *Index) Equal(y *Index) bool { return bytes.Equal(x.data, y.data) }
