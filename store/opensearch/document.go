package opensearch

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"example.org/conclave/ann"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
)

// vectorsOf are the vectors of one passage by expert, each expert of the manifest that
// has its own.
type vectorsOf map[string]store.Encoded

// beside tells which of the fields that an index may lack it has: writtenFields, the keyField and the
// valuesField.
type beside struct{ written, keyed, valued bool }

func (s *Store) beside() beside { return beside{s.written.Load(), s.keyed.Load(), s.valued.Load()} }

// appendPassage appends the document of a passage, as JSON in one line, with the marks of
// how encoders read it, and what else the index has fields for.
func appendPassage(
	b []byte,
	m *Manifest,
	has beside,
	p *corpus.Passage,
	vectors vectorsOf,
	reads ...string,
) ([]byte, error) {
	record, err := p.AppendBinary(nil)
	if err != nil {
		return b, err
	}
	b = append(b, '{')
	b = appendField(b, fieldID, p.ID)
	if p.Title != "" {
		b = appendField(append(b, ','), fieldTitle, p.Title)
	}
	b = appendField(append(b, ','), fieldText, p.Text)
	if len(p.Tags) > 0 {
		b = appendField(append(b, ','), fieldTags, p.Tags)
	}
	if len(p.Metadata) > 0 {
		metadata, err := json.Marshal(p.Metadata)
		if err != nil {
			return b, err
		}
		b = appendField(append(b, ','), fieldMetadata, string(metadata))
	}
	b = appendField(append(b, ','), fieldVersion, corpus.VersionOf(record))
	b = fmt.Appendf(b, `,"%s":%d`, fieldBytes, len(record))
	analysis := m.Words.Params().Analysis
	b = appendField(append(b, ','), fieldWords, strings.Join(analysis.Words(p.Title, p.Text), " "))
	if analysis != forms.Lucene {
		b = appendField(append(b, ','), fieldForms, strings.Join(analysis.FormsLike(p.Title, p.Text), " "))
	}
	if m.Words.Phrases {
		b = appendField(append(b, ','), fieldPairs, strings.Join(analysis.Pairs(p.Title, p.Text), " "))
	}
	if has.written {
		b = appendWritten(append(b, ','), m, p)
	}
	if has.keyed {
		b = appendKey(append(b, ','), p.ID)
	}
	if has.valued {
		b = appendValues(append(b, ','), p)
	}
	b, err = appendVectors(append(b, ','), m.keepers(), vectors)
	if err != nil {
		return b, err
	}
	return append(appendField(b, fieldExperts, append(m.marks(), reads...)), '}'), nil
}

// appendWritten appends writtenFields.
func appendWritten(b []byte, m *Manifest, p *corpus.Passage) []byte {
	b = fmt.Appendf(b, `"%s":%d,`, fieldPrint, int64(p.Fingerprint()))
	return appendField(b, fieldSpelled, spelledWords(m.Words.Params().Analysis, p))
}

// The marks of passages that encoders do not read as a whole, among those of experts,
// whose names are not empty.
const (
	markCut    = ":cut"    // the beginning alone
	markUnread = ":unread" // hardly
	markFirst  = ":first"  // of passages that are the first of their document
)

// readMarks returns the marks of how encoders read a passage, in windows or not, and of the first of a document.
func readMarks(encoders []store.PassageEncoder, p corpus.Passage, windows bool) (marks []string) {
	cut, unread, _ := store.ReadsOf(encoders, p, windows)
	if cut {
		marks = append(marks, markCut)
	}
	if unread {
		marks = append(marks, markUnread)
	}
	if _, number, ok := corpus.DocumentOf(&p); ok && number == 1 {
		marks = append(marks, markFirst)
	}
	return marks
}

// appendVectors appends the fields of experts' vectors, each with a comma behind it.
func appendVectors(b []byte, experts []Expert, vectors vectorsOf) ([]byte, error) {
	for _, x := range experts {
		made, ok := vectors[x.Name]
		if !ok {
			return b, fmt.Errorf("there is no vector of expert %s", x.Name)
		}
		if x.Late {
			codes, err := ann.TokenCodes(made.Vectors, x.Dimension)
			if err != nil {
				return b, fmt.Errorf("expert %s: %w", x.Name, err)
			}
			b = append(appendField(b, x.field(), base64.StdEncoding.EncodeToString(codes)), ',')
			continue
		}
		if n := max(1, len(made.Windows)); len(made.Vectors) < x.Dimension || len(made.Windows) > 0 &&
			len(made.Vectors) != n*x.Dimension {
			return b, fmt.Errorf("expert %s: %d numbers for %d vectors of %d", x.Name, len(made.Vectors), n, x.Dimension)
		}
		b = strconv.AppendQuote(b, x.field())
		b = append(appendVector(append(b, ':'), made.Vectors[:x.Dimension]), ',')
		b = appendWindows(b, x, made)
	}
	return b, nil
}

// appendWindows appends the field of windows, with a comma behind it; nothing for a passage that is read as a whole.
func appendWindows(b []byte, x Expert, made store.Encoded) []byte {
	if len(made.Windows) == 0 {
		return b
	}
	b = append(strconv.AppendQuote(b, x.windowsField()), ":["...)
	for i, s := range made.Windows {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"%s":%d,"%s":%d,"%s":`, fieldBegin, s.Begin, fieldEnd, s.End, fieldVector)
		b = append(appendVector(b, made.Vectors[i*x.Dimension:(i+1)*x.Dimension]), '}')
	}
	return append(b, "],"...)
}

// appendField appends a name and what is a string or a list of strings.
func appendField(b []byte, name string, value any) []byte {
	b = append(strconv.AppendQuote(b, name), ':') // names are plain
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // strings can be encoded
	return append(b, bytes.TrimSuffix(text.Bytes(), []byte{'\n'})...)
}

// appendVector appends numbers so that reading them gives the same bits. A zero below
// zero needs its fraction, since "-0" is read as a whole number, which has one zero.
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

// documentSource is the document of a passage as it is read.
type documentSource map[string]json.RawMessage

// passage reads a passage, which has to be the one that its version names.
func (s documentSource) passage(id string) (p corpus.Passage, err error) {
	var metadata, version string
	for name, into := range map[string]any{fieldID: &p.ID, fieldTitle: &p.Title, fieldText: &p.Text, fieldTags: &p.Tags,
		fieldMetadata: &metadata, fieldVersion: &version} {
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
			return p, fmt.Errorf("passage %q: field %s: %w", id, fieldMetadata, err)
		}
		if _, err := d.Token(); err != io.EOF {
			return p, fmt.Errorf("passage %q: field %s: something follows its end", id, fieldMetadata)
		}
	}
	if err := p.CheckStored(); err != nil {
		return p, fmt.Errorf("passage %q: %w", id, err)
	}
	switch now := p.Version(); {
	case p.ID != id:
		return p, fmt.Errorf("passage %q: its field %s is %q", id, fieldID, p.ID)
	case now != version:
		return p, fmt.Errorf(
			"passage %q: its version is %s, and its field %s says %q: something else than conclave wrote it",
			id,
			now,
			fieldVersion,
			version,
		)
	}
	return p, nil
}

// encoded reads the vectors of an expert.
func (s documentSource) encoded(x Expert) (store.Encoded, error) {
	if x.Late {
		codes, err := s.codes(x)
		if err != nil {
			return store.Encoded{}, err
		}
		vectors, err := ann.TokenVectors(codes, x.Dimension)
		return store.Encoded{Vectors: vectors}, err
	}
	raw, ok := s[x.field()]
	if !ok {
		return store.Encoded{}, fmt.Errorf("it has no field %s", x.field())
	}
	var windows []struct {
		Begin, End uint32
		Vector     []float32
	}
	if of, ok := s[x.windowsField()]; ok {
		if err := json.Unmarshal(of, &windows); err != nil {
			return store.Encoded{}, fmt.Errorf("field %s: %w", x.windowsField(), err)
		}
	}
	var out store.Encoded
	for _, w := range windows {
		if len(w.Vector) != x.Dimension {
			return store.Encoded{}, fmt.Errorf("field %s has %d numbers, and expert %s has %d",
				x.windowsField(), len(w.Vector), x.Name, x.Dimension)
		}
		out.Windows = append(out.Windows, rank.Span{Begin: w.Begin, End: w.End})
		out.Vectors = append(out.Vectors, w.Vector...)
	}
	if len(windows) > 0 {
		return out, nil
	}
	if err := json.Unmarshal(raw, &out.Vectors); err != nil {
		return store.Encoded{}, fmt.Errorf("field %s: %w", x.field(), err)
	}
	if len(out.Vectors) != x.Dimension {
		return store.Encoded{}, fmt.Errorf("field %s has %d numbers, and expert %s has %d",
			x.field(), len(out.Vectors), x.Name, x.Dimension)
	}
	return out, nil
}

// codes reads the codes of an expert of late interaction.
func (s documentSource) codes(x Expert) ([]byte, error) {
	var text string
	if err := json.Unmarshal(s[x.field()], &text); err != nil {
		return nil, fmt.Errorf("field %s: %w", x.field(), err)
	}
	codes, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("field %s: %w", x.field(), err)
	}
	return codes, nil
}

// stored is what there is of an id.
type stored struct {
	found   bool
	version string
	experts []string
	seqNo   int64
	term    int64
	source  documentSource
}

// errAnswer is the error of an answer that is not whole, or makes no sense: another one
// to the same request may be better.
var errAnswer = errors.New("the cluster's answer is not whole")

// parseGot reads the answer to _mget of ids, in their order.
func parseGot(answer []byte, ids []string) ([]stored, error) {
	var got struct {
		Docs []struct {
			Index  string          `json:"_index"`
			ID     string          `json:"_id"`
			Found  *bool           `json:"found"`
			SeqNo  *int64          `json:"_seq_no"`
			Term   *int64          `json:"_primary_term"`
			Source documentSource  `json:"_source"`
			Error  json.RawMessage `json:"error"`
		} `json:"docs"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, fmt.Errorf("%w: %w", errAnswer, err)
	}
	if len(got.Docs) != len(ids) {
		return nil, fmt.Errorf("%w: %d documents for %d ids", errAnswer, len(got.Docs), len(ids))
	}
	out := make([]stored, len(ids))
	for i, d := range got.Docs {
		switch {
		case d.ID != ids[i]:
			return nil, fmt.Errorf("%w: the document of %q in the place of %q", errAnswer, d.ID, ids[i])
		case missed(http.StatusNotFound, string(d.Error)):
			return nil, &GoneError{d.Index}
		case len(d.Error) > 0:
			return nil, fmt.Errorf("%w: reading %q: %.300s", errAnswer, ids[i], d.Error)
		case d.Found == nil:
			return nil, fmt.Errorf("%w: nothing is said of %q", errAnswer, ids[i])
		case !*d.Found:
			continue
		case d.SeqNo == nil || d.Term == nil || d.Source == nil:
			return nil, fmt.Errorf("%w: %q without sequence number or source", errAnswer, ids[i])
		}
		var err error
		out[i], err = storedAs(ids[i], d.Source, *d.SeqNo, *d.Term)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// storedAs returns what is stored of an id by its document, which has fieldVersion and fieldExperts.
func storedAs(id string, source documentSource, seqNo, term int64) (stored, error) {
	s := stored{found: true, seqNo: seqNo, term: term, source: source}
	for name, into := range map[string]any{fieldVersion: &s.version, fieldExperts: &s.experts} {
		if raw, ok := source[name]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return stored{}, fmt.Errorf("passage %q: field %s: %w", id, name, err)
			}
		}
	}
	if s.version == "" {
		return stored{}, fmt.Errorf("passage %q has no %s: something else than conclave wrote it", id, fieldVersion)
	}
	return s, nil
}
