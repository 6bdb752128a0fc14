package corpus

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"example.org/conclave/internal/disk"
)

// AppendBinary appends p as stores and logs keep it, the body of a record: id, title,
// text, the tags and the metadata as JSON, each behind its length. json.Marshal sorts
// the keys, so equal passages have equal bytes. The passage should have passed Check.
func (p *Passage) AppendBinary(b []byte) ([]byte, error) {
	for _, s := range []string{p.ID, p.Title, p.Text} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = binary.AppendUvarint(b, uint64(len(p.Tags)))
	for _, s := range p.Tags {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	if len(p.Metadata) == 0 {
		return append(b, 0), nil
	}
	metadata, err := json.Marshal(p.Metadata)
	if err != nil {
		return b, &FieldError{Field: "metadata", Problem: err.Error()}
	}
	b = binary.AppendUvarint(b, uint64(len(metadata)))
	return append(b, metadata...), nil
}

// recordID returns the id in a record's body, without decoding the rest.
func recordID(body []byte) ([]byte, error) {
	id, _, err := cutField(body)
	return id, err
}

// recordTags returns the tags in a record's body, without decoding the rest.
func recordTags(body []byte) (tags []string, err error) {
	for range 3 { // id, title, text
		_, body, err = cutField(body)
		if err != nil {
			return nil, err
		}
	}
	tags, _, err = cutTags(body)
	return tags, err
}

// recordMetadata returns the metadata in a record's body as JSON, empty where there are none,
// without decoding the rest.
func recordMetadata(body []byte) (metadata []byte, err error) {
	for range 3 { // id, title, text
		_, body, err = cutField(body)
		if err != nil {
			return nil, err
		}
	}
	_, body, err = cutTags(body)
	if err != nil {
		return nil, err
	}
	metadata, _, err = cutField(body)
	return metadata, err
}

// decodeRecord returns the inverse of AppendBinary. It copies, so the passage
// outlives a mapping.
func decodeRecord(body []byte) (Passage, error) {
	var p Passage
	var err error
	var field []byte
	for _, into := range []*string{&p.ID, &p.Title, &p.Text} {
		field, body, err = cutField(body)
		if err != nil {
			return p, err
		}
		*into = string(field)
	}
	p.Tags, body, err = cutTags(body)
	if err != nil {
		return p, err
	}
	field, body, err = cutField(body)
	if err != nil {
		return p, err
	}
	if len(body) > 0 {
		return p, errRecord
	}
	if len(field) > 0 {
		d := json.NewDecoder(bytes.NewReader(field))
		d.UseNumber()
		if err := d.Decode(&p.Metadata); err != nil {
			return p, fmt.Errorf("its metadata: %w", err)
		}
		if _, err := d.Token(); err != io.EOF {
			return p, errRecord
		}
	}
	return p, nil
}

var errRecord = errors.New("its lengths contradict each other")

func cutField(body []byte) (field, rest []byte, err error) {
	n, used := binary.Uvarint(body)
	if used <= 0 || n > uint64(len(body)-used) {
		return nil, nil, errRecord
	}
	return body[used : used+int(n)], body[used+int(n):], nil
}

// cutTags cuts off the tags behind their number.
func cutTags(body []byte) (tags []string, rest []byte, err error) {
	n, used := binary.Uvarint(body)
	if used <= 0 || n > MaxTags {
		return nil, nil, errRecord
	}
	rest = body[used:]
	for range n {
		var tag []byte
		tag, rest, err = cutField(rest)
		if err != nil {
			return nil, nil, err
		}
		tags = append(tags, string(tag))
	}
	return tags, rest, nil
}

// UnmarshalBinary undoes AppendBinary. It keeps nothing of b.
func (p *Passage) UnmarshalBinary(b []byte) error {
	decoded, err := decodeRecord(b)
	if err == nil {
		*p = decoded
	}
	return err
}

// Version returns a fingerprint of what p says, in hexadecimal: equal for equal
// passages, wherever they are stored. It serves as the ETag of a passage.
func (p *Passage) Version() string {
	body, err := p.AppendBinary(nil)
	if err != nil {
		return ""
	}
	return VersionOf(body)
}

// VersionOf returns the Version of the passage that AppendBinary made record of.
func VersionOf(record []byte) string { return disk.Sum(record) }
