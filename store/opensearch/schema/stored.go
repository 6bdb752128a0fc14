package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"example.org/conclave/internal/corpus"
)

// StoredDocument is the document that an index has under an id; Found is false if there is none. SeqNo and Term are a
// condition for changing it.
type StoredDocument struct {
	Found   bool
	Version string
	Experts []string
	SeqNo   int64
	Term    int64
	Source  Source
}

// HasMarks reports whether the document has all of the given marks.
func (s *StoredDocument) HasMarks(marks []string) bool {
	for _, mark := range marks {
		if !slices.Contains(s.Experts, mark) {
			return false
		}
	}
	return true
}

// VectorFor returns the numbers that the document has of an expert for passage p. If the document has p's content,
// these are its vector, or all vectors of an expert with several; for a passage read in windows only those of the first
// window. If p has the text of one of the document's windows, they are that window's vector. Otherwise, and if there is
// no document, it fails with errChanging. It also fails if the vectors cannot be decoded.
func (s *StoredDocument) VectorFor(x Expert, p *corpus.Passage) ([]float32, error) {
	if !s.Found {
		return nil, errChanging
	}
	made, err := s.Source.Encoded(x)
	if err != nil {
		return nil, err
	}
	if s.Version == p.Version() {
		if len(made.Windows) > 0 {
			return made.Vectors[:x.Dimension], nil
		}
		return made.Vectors, nil
	}
	var text string
	if err := json.Unmarshal(s.Source[FieldText], &text); err != nil {
		return nil, fmt.Errorf("field %s: %w", FieldText, err)
	}
	for i, w := range made.Windows {
		if int(w.End) <= len(text) && text[w.Begin:w.End] == p.Text {
			return made.Vectors[i*x.Dimension : (i+1)*x.Dimension], nil
		}
	}
	return nil, errChanging
}

// errChanging is the error of a passage that was changed since it was read.
var errChanging = errors.New("it was changed while it was read: start again while nobody writes to it")

// ParseStored returns the StoredDocument of a document that was read with FieldVersion and FieldExperts. It fails
// without FieldVersion: then another program wrote the document. seqNo and term are the sequence number and primary
// term of the document.
func ParseStored(id string, source Source, seqNo, term int64) (StoredDocument, error) {
	s := StoredDocument{Found: true, SeqNo: seqNo, Term: term, Source: source}
	for name, into := range map[string]any{FieldVersion: &s.Version, FieldExperts: &s.Experts} {
		if raw, ok := source[name]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return StoredDocument{}, fmt.Errorf("passage %q: field %s: %w", id, name, err)
			}
		}
	}
	if s.Version == "" {
		return StoredDocument{}, fmt.Errorf("passage %q has no %s: something else than conclave wrote it", id, FieldVersion)
	}
	return s, nil
}

// AppendFieldsBut appends to b all fields of a document except those named in but, in alphabetical order, each as JSON
// and followed by a comma. It returns the extended slice.
func (s Source) AppendFieldsBut(b []byte, but ...string) []byte {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(but, name) {
			b = append(append(append(strconv.AppendQuote(b, name), ':'), s[name]...), ',')
		}
	}
	return b
}

// EncodedText is what the vectors of a passage depend on. Language is that of its metadata, by which experts may leave
// it to others; "" if these say none.
type EncodedText struct{ Title, Text, Language string }

// EncodedTextOf returns what the vectors of p depend on.
func EncodedTextOf(p *corpus.Passage) EncodedText {
	return EncodedText{p.Title, p.Text, corpus.LanguageOf(p)}
}

// RememberVectors adds the document's vectors to known, under what they depend on. It adds nothing if the document
// lacks the vectors of an expert, an expert left the passage out, or it cannot be read.
func (s Source) RememberVectors(known map[EncodedText]Vectors, experts []Expert) {
	var p corpus.Passage
	if raw, ok := s[FieldTitle]; ok && json.Unmarshal(raw, &p.Title) != nil {
		return
	}
	if json.Unmarshal(s[FieldText], &p.Text) != nil {
		return
	}
	if _, ok := s[FieldMetadata]; ok && s.readMetadata(&p) != nil {
		return
	}
	vectors := Vectors{}
	for _, x := range experts {
		made, err := s.Encoded(x)
		if err != nil || len(made.Vectors) == 0 {
			return
		}
		vectors[x.Name] = made
	}
	known[EncodedTextOf(&p)] = vectors
}

// readMetadata sets the metadata of p to the document's. It fails if the document has none, or they cannot be read.
func (s Source) readMetadata(p *corpus.Passage) error {
	var metadata string
	if err := json.Unmarshal(s[FieldMetadata], &metadata); err != nil {
		return err
	}
	return json.Unmarshal([]byte(metadata), &p.Metadata)
}

// DocumentVersion returns the version of a document (VersionOf), from the metadata of its first passage, whose id is
// id. It fails if the metadata is missing or cannot be read; metadata that is of no document gives the zero Document.
func (s Source) DocumentVersion(id string) (corpus.Document, error) {
	p := corpus.Passage{ID: id}
	if err := s.readMetadata(&p); err != nil {
		return corpus.Document{}, fmt.Errorf("passage %q: field %s: %w", id, FieldMetadata, err)
	}
	d, _, _ := corpus.DocumentOf(&p)
	return VersionOf(d), nil
}

// VersionOf returns d without tags and metadata, to compare two versions of a document. Tags and metadata do not belong
// to the version: one passage's may be changed alone. A change of those of all passages together is in d.Revision.
func VersionOf(d corpus.Document) corpus.Document {
	d.Tags, d.Metadata = nil, nil
	return d
}
