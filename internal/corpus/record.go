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

// AppendBinary appends the record of p to b and returns the result: id, title, text, tags, and the metadata as
// JSON, each after its length. Equal passages have equal records. p should have passed Check; the error, a
// *FieldError, is that the metadata cannot be written as JSON.
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

// recordID returns the id in a record's body, a part of body, without decoding the rest. The error is errRecord if
// the body is damaged there.
func recordID(body []byte) ([]byte, error) {
	id, _, err := cutField(body)
	return id, err
}

// recordTexts returns the title and the text in a record's body, parts of body, without decoding the rest. The
// error is errRecord if the body is damaged up to there.
func recordTexts(body []byte) (title, text []byte, err error) {
	_, body, err = cutField(body) // id
	if err == nil {
		title, body, err = cutField(body)
	}
	if err == nil {
		text, _, err = cutField(body)
	}
	return title, text, err
}

// recordTags returns the tags in a record's body without decoding the rest; nil if it has none. The error is
// errRecord if the body is damaged up to there.
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

// recordMetadata returns the metadata in a record's body as JSON, a part of body, without decoding the rest; empty
// if there are none. The error is errRecord if the body is damaged up to there.
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

// decodeRecord returns the passage in a record that AppendBinary wrote. It shares no memory with body. The error says
// that the record is damaged.
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

// cutField returns the first field of body, before which its length stands, and the rest, both parts of body;
// errRecord if body is too short.
func cutField(body []byte) (field, rest []byte, err error) {
	n, used := binary.Uvarint(body)
	if used <= 0 || n > uint64(len(body)-used) {
		return nil, nil, errRecord
	}
	return body[used : used+int(n)], body[used+int(n):], nil
}

// cutTags returns the tags at the beginning of body, before which their number stands, and the rest; nil if there
// are none. It returns errRecord if body is too short or there are more than MaxTags.
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

// UnmarshalBinary sets p to the passage in a record of AppendBinary. It does not keep b. p stays as it is if the record
// is damaged.
func (p *Passage) UnmarshalBinary(b []byte) error {
	decoded, err := decodeRecord(b)
	if err == nil {
		*p = decoded
	}
	return err
}

// Version returns a hash of the whole passage in hexadecimal, its ETag: equal passages have equal versions in every
// store. It is "" if the metadata cannot be written as JSON.
func (p *Passage) Version() string {
	body, err := p.AppendBinary(nil)
	if err != nil {
		return ""
	}
	return VersionOf(body)
}

// VersionOf returns the Version of the passage whose AppendBinary returned record.
func VersionOf(record []byte) string { return disk.Sum(record) }
