// Package corpus holds passages: it reads the formats that people have (DPR's
// psgs_w100.tsv, JSON Lines, BEIR folders, CSV) and stores passages so that an
// ordinal fetches its text.
//
// Words used here:
//
//   - passage: a piece of text that can be an answer, with an id;
//   - record: one passage as bytes, in a file that is read or in a store;
//   - place: the file and line that a record came from;
//   - store: the file of a segment that holds its passages.
package corpus

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/internal/plaintext"
	"example.org/conclave/internal/wording"

	"github.com/zeebo/xxh3"
)

// Passage is a piece of text that can be an answer, usually 40 to 200 words.
type Passage struct {
	ID    string   `json:"id"`
	Title string   `json:"title,omitempty"`
	Text  string   `json:"text"`
	Tags  []string `json:"tags,omitempty"`
	// Metadata is flat: strings, booleans and numbers. Numbers that were read
	// from a file or a store are json.Number, so that none loses a digit.
	Metadata map[string]any `json:"metadata,omitempty"`
}

// The bounds of a passage. An id is bounded because it goes into URLs and run files;
// the other bounds keep one passage from filling the memory.
const (
	MaxIDBytes       = 512
	MaxTextBytes     = 8 << 20
	MaxTitleBytes    = 64 << 10
	MaxTags          = 256
	MaxTagBytes      = 256
	MaxMetadataKeys  = 256
	MaxMetadataBytes = 256 << 10
)

// FieldError says which field of a passage is wrong, with which value, and
// what is allowed.
type FieldError struct {
	Field   string // "id", "text", "metadata.year"; empty when the whole record is meant
	Value   string // an excerpt of the value, quoted; empty when there is none
	Problem string // "is empty: …"
	// Encoding says how the text is converted, where it is not in UTF-8.
	Encoding *plaintext.Error
}

// Unwrap returns the error of the encoding; nil if that is right.
func (e *FieldError) Unwrap() error {
	if e.Encoding == nil {
		return nil
	}
	return e.Encoding
}

// Error names the field with its value, as far as these are set, and then the problem and how to convert a wrong
// encoding.
func (e *FieldError) Error() string {
	var b strings.Builder
	switch {
	case e.Field == "" && e.Value != "":
		b.WriteString(e.Value + " ")
	case e.Value != "":
		fmt.Fprintf(&b, "field %q (%s) ", e.Field, e.Value)
	case e.Field != "":
		fmt.Fprintf(&b, "field %q ", e.Field)
	}
	b.WriteString(e.Problem)
	if e.Encoding != nil {
		b.WriteString("; " + strings.TrimPrefix(e.Encoding.Error(), "it is not valid UTF-8; "))
	}
	return b.String()
}

// Check returns a *FieldError for the first reason why p cannot be indexed as a new passage; nil if there is none.
func (p *Passage) Check() error {
	if err := CheckID(p.ID); err != nil {
		return err
	}
	return p.CheckStored()
}

// CheckStored returns a *FieldError for the first reason why p cannot be in an index, such as a field beyond its
// bound or without words; nil if there is none. It accepts some ids that CheckID refuses for new passages.
func (p *Passage) CheckStored() error {
	if err := checkID(p.ID); err != nil {
		return err
	}
	if err := checkText("title", p.Title, MaxTitleBytes); err != nil {
		return err
	}
	if strings.TrimSpace(p.Text) == "" && strings.TrimSpace(p.Title) == "" {
		return &FieldError{
			Field:   "text",
			Problem: "is missing or empty, and so is the title: a passage needs words to be found by",
		}
	}
	if err := checkText("text", p.Text, MaxTextBytes); err != nil {
		return err
	}
	if len(p.Tags) > MaxTags {
		return &FieldError{Field: "tags", Problem: fmt.Sprintf("has %d entries, %d are allowed", len(p.Tags), MaxTags)}
	}
	for i, tag := range p.Tags {
		field := fmt.Sprintf("tags[%d]", i)
		if strings.TrimSpace(tag) == "" {
			return &FieldError{Field: field, Problem: "is empty"}
		}
		if err := checkText(field, tag, MaxTagBytes); err != nil {
			return err
		}
	}
	return checkMetadata(p.Metadata)
}

// checkText returns a *FieldError if a field's text has more than most bytes, is not UTF-8, or contains a NUL.
func checkText(field, text string, most int) error {
	switch {
	case len(text) > most:
		return &FieldError{
			Field:   field,
			Value:   wording.Quote(text),
			Problem: fmt.Sprintf("has %d bytes, %d are allowed", len(text), most),
		}
	case !utf8.ValidString(text):
		return notUTF8(field, text)
	}
	if at := strings.IndexByte(text, 0); at >= 0 {
		return &FieldError{
			Field:   field,
			Value:   wording.Quote(excerptAround(text, at)),
			Problem: fmt.Sprintf("has a NUL (byte %d of the field)", at+1),
		}
	}
	return nil
}

// notUTF8 returns the *FieldError for a field whose text is not UTF-8, with the first wrong byte and the likely
// encoding.
func notUTF8(field, text string) error {
	at := firstInvalid(text)
	return &FieldError{
		Field:    field,
		Value:    wording.Quote(excerptAround(text, at)),
		Problem:  fmt.Sprintf("is not valid UTF-8 (byte %d of the field)", at+1),
		Encoding: plaintext.Wrong([]byte(text)),
	}
}

// checkMetadata returns a *FieldError if metadata are too large, have an empty key, or a value that is not a
// string, a finite number, true or false. Of several faults it returns any. nil is allowed.
func checkMetadata(metadata map[string]any) error {
	if len(metadata) > MaxMetadataKeys {
		return &FieldError{
			Field:   "metadata",
			Problem: fmt.Sprintf("has %d keys, %d are allowed", len(metadata), MaxMetadataKeys),
		}
	}
	total := 0
	for key, value := range metadata {
		field := "metadata." + key
		if key == "" {
			return &FieldError{Field: "metadata", Problem: "has an empty key"}
		}
		if err := checkText("metadata", key, MaxMetadataBytes); err != nil {
			return err
		}
		total += len(key)
		switch v := value.(type) {
		case string:
			if err := checkText(field, v, MaxMetadataBytes); err != nil {
				return err
			}
			total += len(v)
		case json.Number:
			// A caller can put anything into a json.Number; storing what is no
			// number would make the record unreadable.
			if !json.Valid([]byte(v)) || strings.ContainsAny(string(v), "\"{[tfn \t\r\n") {
				return &FieldError{Field: field, Value: wording.Quote(string(v)), Problem: "is not a number"}
			}
			// Most programs that read it would take it for infinity or fail.
			if f, _ := v.Float64(); math.IsInf(f, 0) {
				return &FieldError{Field: field, Value: wording.Quote(string(v)), Problem: "is larger than numbers of 64 bits can be (1.8e308): write it as a string"}
			}
			total += len(v)
		case bool, float64, float32, int, int64, uint64, int32, uint32:
			if _, err := json.Marshal(v); err != nil { // NaN and infinities
				return &FieldError{Field: field, Problem: "is not a finite number"}
			}
			total += 8
		default:
			return &FieldError{Field: field, Problem: "is " + nestedName(value) + ": metadata is flat, so a string, a number, true or false"}
		}
	}
	if total > MaxMetadataBytes {
		return &FieldError{Field: "metadata", Problem: fmt.Sprintf("has %d bytes, %d are allowed", total, MaxMetadataBytes)}
	}
	return nil
}

// nestedName returns what JSON calls a value that metadata cannot have: "null", "a list" or "an object".
func nestedName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case []any:
		return "a list"
	}
	return "an object"
}

// excerptAround returns some 20 bytes of text on both sides of byte at, for an error message.
func excerptAround(text string, at int) string {
	start := max(at-20, 0)
	for start > 0 && start > at-24 && !utf8.RuneStart(text[start]) {
		start--
	}
	return text[start:min(at+20, len(text))]
}

// firstInvalid returns the index of the first byte that is not UTF-8; len(text) if all are.
func firstInvalid(text string) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(text)
}

// Fingerprint returns a hash of the title and text, without regard to case and white space, to find duplicates. It is
// never 0. Different passages have equal hashes once in 2^64 pairs.
func (p *Passage) Fingerprint() uint64 {
	form := make([]byte, 0, len(p.Title)+len(p.Text)+2)
	for _, text := range [...]string{p.Title, p.Text} {
		begin := len(form)
		gap := false
		for _, r := range text {
			if unicode.IsSpace(r) {
				gap = true
				continue
			}
			if gap && len(form) > begin {
				form = append(form, ' ')
			}
			gap = false
			form = utf8.AppendRune(form, unicode.ToLower(r))
		}
		form = append(form, 0)
	}
	return max(xxh3.Hash(form), 1)
}
