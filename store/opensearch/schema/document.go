package schema

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.org/conclave/ann"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
)

// Vectors are the vectors of one passage by the name of the expert, of each expert of the manifest that has its own.
type Vectors map[string]store.EncodedPassage

// AppendPassage appends the document of a passage, as JSON in one line, with the marks reads of how encoders read it
// (ReadMarks). It fails if vectors lacks an expert of the manifest that has vectors of its own.
func AppendPassage(b []byte, m *Manifest, p *corpus.Passage, vectors Vectors, reads ...string) ([]byte, error) {
	b, err := appendSearched(b, m, p)
	if err != nil {
		return b, err
	}
	analysis := m.Words.Params().Analysis
	b = fmt.Appendf(b, `"%s":%d,`, FieldPrint, int64(p.Fingerprint()))
	b = AppendField(b, FieldSpelled, SpelledWords(analysis, p))
	b = fmt.Appendf(b, `,"%s":%d,`, FieldKey, corpus.SampleKey(p.ID))
	return appendMarked(b, m, vectors, reads...)
}

// AppendStandIn appends the document of a stand-in, a copy of a passage that is in the index while its document is
// replaced, as JSON in one line. It lacks the fields by which passages are counted as copies, give words for
// corrections, and are drawn for the sample. It fails if vectors lacks an expert of the manifest that has vectors of
// its own.
func AppendStandIn(b []byte, m *Manifest, p *corpus.Passage, vectors Vectors) ([]byte, error) {
	b, err := appendSearched(b, m, p)
	if err != nil {
		return b, err
	}
	return appendMarked(b, m, vectors, MarkStandIn)
}

// appendMarked appends the fields of vectors, the marks of the experts and those of reads, and the end of a document.
// It fails if vectors lacks an expert of the manifest that has vectors of its own.
func appendMarked(b []byte, m *Manifest, vectors Vectors, reads ...string) ([]byte, error) {
	b, err := AppendVectors(b, m.Keepers(), vectors)
	if err != nil {
		return b, err
	}
	marks := slices.Concat(m.Marks(), LeftOutMarks(m.Keepers(), vectors), reads)
	return append(AppendField(b, FieldExperts, marks), '}'), nil
}

// LeftOutMarks returns the marks of those of the experts that leave a passage out, by their vectors of it; nil if none
// does.
func LeftOutMarks(experts []Expert, vectors Vectors) (marks []string) {
	for _, x := range experts {
		if made, ok := vectors[x.Name]; ok && len(made.Vectors) == 0 {
			marks = append(marks, x.LeftOutMark())
		}
	}
	return marks
}

// appendSearched appends the beginning of a document: the passage itself, and the fields of its words and values. It
// ends with a comma. It fails for a passage that cannot be encoded.
func appendSearched(b []byte, m *Manifest, p *corpus.Passage) ([]byte, error) {
	record, err := p.AppendBinary(nil)
	if err != nil {
		return b, err
	}
	b = append(b, '{')
	b = AppendField(b, FieldID, p.ID)
	if p.Title != "" {
		b = AppendField(append(b, ','), FieldTitle, p.Title)
	}
	b = AppendField(append(b, ','), FieldText, p.Text)
	if len(p.Tags) > 0 {
		b = AppendField(append(b, ','), FieldTags, p.Tags)
	}
	if len(p.Metadata) > 0 {
		metadata, err := json.Marshal(p.Metadata)
		if err != nil {
			return b, err
		}
		b = AppendField(append(b, ','), FieldMetadata, string(metadata))
	}
	b = AppendField(append(b, ','), FieldVersion, corpus.VersionOf(record))
	b = fmt.Appendf(b, `,"%s":%d`, FieldBytes, len(record))
	analysis := m.Words.Params().Analysis
	b = AppendField(append(b, ','), FieldWords, strings.Join(analysis.Words(p.Title, p.Text), " "))
	if analysis != forms.Lucene {
		b = AppendField(append(b, ','), FieldForms, strings.Join(analysis.FormsLike(p.Title, p.Text), " "))
	}
	if m.Words.Phrases {
		b = AppendField(append(b, ','), FieldPairs, strings.Join(analysis.Pairs(p.Title, p.Text), " "))
	}
	return append(AppendField(append(b, ','), FieldValues, ValueTerms(p)), ','), nil
}

// The marks of passages that encoders do not read as a whole, among those of experts,
// whose names are not empty.
const (
	MarkCut    = ":cut"    // the beginning alone
	MarkUnread = ":unread" // hardly
	MarkFirst  = ":first"  // of passages that are the first of their document
	// MarkStandIn marks a document that stands for a passage while the document that the passage is of is replaced.
	MarkStandIn = ":stand-in"
)

// ReadMarks returns the marks of a passage other than those of the experts: MarkCut if an encoder reads only its
// beginning, MarkUnread if one can hardly read it, and MarkFirst if it is the first of a document. It returns nil if
// none applies.
func ReadMarks(encoders []store.PassageEncoder, p corpus.Passage) (marks []string) {
	cut, unread, _ := store.ReadsOf(encoders, p)
	if cut {
		marks = append(marks, MarkCut)
	}
	if unread {
		marks = append(marks, MarkUnread)
	}
	if _, number, ok := corpus.DocumentOf(&p); ok && number == 1 {
		marks = append(marks, MarkFirst)
	}
	return marks
}

// AppendVectors appends the fields of experts' vectors, each followed by a comma; none for an expert that leaves the
// passage out (LeftOutMarks). Their numbers are rounded to half
// precision, so that a folder gives the same scores. It fails if an expert has none in vectors, their length does not
// fit, or a number is larger than half precision allows.
func AppendVectors(b []byte, experts []Expert, vectors Vectors) ([]byte, error) {
	for _, x := range experts {
		made, ok := vectors[x.Name]
		if !ok {
			return b, fmt.Errorf("there is no vector of expert %s", x.Name)
		}
		if len(made.Vectors) == 0 {
			continue
		}
		if x.Late {
			codes, err := ann.TokenCodes(made.Vectors, x.Dimension)
			if err != nil {
				return b, fmt.Errorf("expert %s: %w", x.Name, err)
			}
			b = append(AppendField(b, x.Field(), base64.StdEncoding.EncodeToString(codes)), ',')
			continue
		}
		if n := max(1, len(made.Windows)); len(made.Vectors) < x.Dimension || len(made.Windows) > 0 &&
			len(made.Vectors) != n*x.Dimension {
			return b, fmt.Errorf("expert %s: %d numbers for %d vectors of %d", x.Name, len(made.Vectors), n, x.Dimension)
		}
		rounded, err := ann.RoundVector(made.Vectors)
		if err != nil {
			return b, fmt.Errorf("expert %s: %w", x.Name, err)
		}
		made.Vectors = rounded
		b = strconv.AppendQuote(b, x.Field())
		b = append(appendVector(append(b, ':'), made.Vectors[:x.Dimension]), ',')
		b = appendWindows(b, x, made)
	}
	return b, nil
}

// appendWindows appends the field of windows, followed by a comma; nothing for a passage that is read as a whole.
func appendWindows(b []byte, x Expert, made store.EncodedPassage) []byte {
	if len(made.Windows) == 0 {
		return b
	}
	b = append(strconv.AppendQuote(b, x.WindowsField()), ":["...)
	for i, s := range made.Windows {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"%s":%d,"%s":%d,"%s":`, FieldBegin, s.Begin, FieldEnd, s.End, FieldVector)
		b = append(appendVector(b, made.Vectors[i*x.Dimension:(i+1)*x.Dimension]), '}')
	}
	return append(b, "],"...)
}

// AppendField appends a JSON name and its value, which has to be a string or a list of strings.
func AppendField(b []byte, name string, value any) []byte {
	b = append(strconv.AppendQuote(b, name), ':') // names are plain
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // strings can be encoded
	return append(b, bytes.TrimSuffix(text.Bytes(), []byte{'\n'})...)
}

// appendVector appends numbers so that reading them gives the same bits: -0 is written as -0.0, since "-0" would be
// read as the integer 0.
func appendVector(b []byte, vector []float32) []byte {
	b = append(b, '[')
	for i, x := range vector {
		if i > 0 {
			b = append(b, ',')
		}
		if x == 0 && math.Signbit(float64(x)) {
			b = append(b, "-0.0"...)
			continue
		}
		b = strconv.AppendFloat(b, float64(x), 'g', -1, 32)
	}
	return append(b, ']')
}

// Source is the document of a passage as it is read, by the names of its fields.
type Source map[string]json.RawMessage

// Passage returns the passage of a document. It fails if the document's id is not id, the passage is invalid, or its
// content does not have the version in FieldVersion: then another program wrote it.
func (s Source) Passage(id string) (p corpus.Passage, err error) {
	var metadata, version string
	for name, into := range map[string]any{FieldID: &p.ID, FieldTitle: &p.Title, FieldText: &p.Text, FieldTags: &p.Tags,
		FieldMetadata: &metadata, FieldVersion: &version} {
		if raw, ok := s[name]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return p, fmt.Errorf("passage %q: field %s: %w", id, name, err)
			}
		}
	}
	if metadata != "" {
		d := json.NewDecoder(strings.NewReader(metadata))
		d.UseNumber()
		if err := d.Decode(&p.Metadata); err != nil {
			return p, fmt.Errorf("passage %q: field %s: %w", id, FieldMetadata, err)
		}
		if _, err := d.Token(); err != io.EOF {
			return p, fmt.Errorf("passage %q: field %s: something follows its end", id, FieldMetadata)
		}
	}
	if err := p.CheckStored(); err != nil {
		return p, fmt.Errorf("passage %q: %w", id, err)
	}
	switch now := p.Version(); {
	case p.ID != id:
		return p, fmt.Errorf("passage %q: its field %s is %q", id, FieldID, p.ID)
	case now != version:
		return p, fmt.Errorf(
			"passage %q: its version is %s, and its field %s says %q: something else than conclave wrote it", id, now,
			FieldVersion, version,
		)
	}
	return p, nil
}

// Encoded returns the vectors of an expert, with its windows; for late interaction the vectors of its codes. It fails
// if the document has none, or they do not have the expert's dimension. An expert that left the passage out has none,
// without an error, if the document was read with FieldExperts.
func (s Source) Encoded(x Expert) (store.EncodedPassage, error) {
	if s.IsLeftOut(x) {
		return store.EncodedPassage{Vectors: []float32{}, Windows: []rank.Span{}}, nil
	}
	if x.Late {
		codes, err := s.Codes(x)
		if err != nil {
			return store.EncodedPassage{}, err
		}
		vectors, err := ann.TokenVectors(codes, x.Dimension)
		return store.EncodedPassage{Vectors: vectors}, err
	}
	raw, ok := s[x.Field()]
	if !ok {
		return store.EncodedPassage{}, fmt.Errorf("it has no field %s", x.Field())
	}
	var windows []struct {
		Begin, End uint32
		Vector     []float32
	}
	if encoded, ok := s[x.WindowsField()]; ok {
		if err := json.Unmarshal(encoded, &windows); err != nil {
			return store.EncodedPassage{}, fmt.Errorf("field %s: %w", x.WindowsField(), err)
		}
	}
	var out store.EncodedPassage
	for _, w := range windows {
		if len(w.Vector) != x.Dimension {
			return store.EncodedPassage{}, fmt.Errorf("field %s has %d numbers, and expert %s has %d",
				x.WindowsField(), len(w.Vector), x.Name, x.Dimension)
		}
		out.Windows = append(out.Windows, rank.Span{Begin: w.Begin, End: w.End})
		out.Vectors = append(out.Vectors, w.Vector...)
	}
	if len(windows) > 0 {
		return out, nil
	}
	if err := json.Unmarshal(raw, &out.Vectors); err != nil {
		return store.EncodedPassage{}, fmt.Errorf("field %s: %w", x.Field(), err)
	}
	if len(out.Vectors) != x.Dimension {
		return store.EncodedPassage{}, fmt.Errorf("field %s has %d numbers, and expert %s has %d",
			x.Field(), len(out.Vectors), x.Name, x.Dimension)
	}
	return out, nil
}

// IsLeftOut reports whether an expert left the passage out, so that the document has no vectors of it. It is false if
// the document was read without FieldExperts.
func (s Source) IsLeftOut(x Expert) bool {
	var marks []string
	return json.Unmarshal(s[FieldExperts], &marks) == nil && slices.Contains(marks, x.LeftOutMark())
}

// Codes returns the codes of an expert of late interaction (ann.TokenCodes), none for a passage that it left out. It
// fails if the document has none otherwise: one that was read by its id has none, since codes are doc values alone.
func (s Source) Codes(x Expert) ([]byte, error) {
	if s.IsLeftOut(x) {
		return []byte{}, nil
	}
	var text string
	if err := json.Unmarshal(s[x.Field()], &text); err != nil {
		return nil, fmt.Errorf("field %s: %w", x.Field(), err)
	}
	codes, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("field %s: %w", x.Field(), err)
	}
	return codes, nil
}
