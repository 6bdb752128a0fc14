package tags

import (
	"bytes"
	"encoding/binary"

	"example.org/conclave/internal/disk"
)

// An Index says which passages of a segment have which tags. It does not change
// and is safe for concurrent use, until it is closed.
type Index struct {
	header
	*disk.ChecksummedFile
}

const fileKind = "index of tags"

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

// Passages returns the number of passages, with tags or without.
func (x *Index) Passages() int { return int(x.passages) }

// record is the entry of a tag: where its text and its postings are, and how many passages have it.
type record struct {
	text, textEnd         uint64 // in the section of texts
	postings, postingsEnd uint64 // in the section of postings
	count, kind           uint32
}

// record returns the record of tag number i, in the order of the tags' bytes. It fails if the file is damaged there.
func (x *Index) record(i uint32) (record, error) {
	at := headerBytes + recordBytes*uint64(i)
	b, err := x.Bytes(at, at+2*recordBytes) // the next one's beginning is this one's end
	if err != nil {
		return record{}, err
	}
	le := binary.LittleEndian
	r := record{text: le.Uint64(b), postings: le.Uint64(b[8:]), count: le.Uint32(b[16:]), kind: le.Uint32(b[20:])}
	r.textEnd, r.postingsEnd = le.Uint64(b[recordBytes:]), le.Uint64(b[recordBytes+8:])
	if r.text >= r.textEnd || r.textEnd > x.texts || r.postings >= r.postingsEnd || r.postingsEnd > x.header.postings ||
		r.kind >= kinds ||
		r.count == 0 {
		return r, x.Damaged("the record of tag %d is impossible", i)
	}
	return r, nil
}

// text returns the tag of a record. It fails if the file is damaged there.
func (x *Index) text(r record) ([]byte, error) {
	return x.Bytes(x.textsAt()+r.text, x.textsAt()+r.textEnd)
}

// find returns the record of a tag; ok is false if no passage has it. It fails if the file is damaged.
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

// Check reads the whole file and returns an error if a checksum is wrong, the tags are not in order, or tags and
// postings do not match.
func (x *Index) Check() error {
	if _, err := x.Bytes(headerBytes, x.sumsAt()); err != nil {
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
			return x.Damaged("tag %d (%q) does not follow %q", i, tag, before)
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
		return x.Damaged("there are texts or postings without a tag")
	}
	return nil
}

// Equal reports whether two indexes have the same content.
func (x *Index) Equal(y *Index) bool { return x.ChecksummedFile.Equal(y.ChecksummedFile) }
