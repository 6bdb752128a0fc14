package corpus

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// HeadingSeparator separates the headings of a path of headings, the outermost first.
const HeadingSeparator = " › "

// The keys of a passage's metadata that say of which document it is. Every passage of a
// document has them, but those that its file does not tell, so that the passages of a
// document are all that there is of it: nothing else has to be kept in step with them.
const (
	DocumentKey         = "document" // its id
	DocumentTitleKey    = "document_title"
	DocumentSourceKey   = "document_source" // where it is from; absent where that is its id
	DocumentSHA256Key   = "document_sha256" // of its file
	DocumentPassagesKey = "document_passages"
	DocumentBytesKey    = "document_bytes" // of its file
	MediaTypeKey        = "media_type"
	ModifiedKey         = "modified"       // RFC 3339
	HeadingKey          = "heading"        // the path of headings around a passage, with HeadingSeparator between them
	PageKey             = "page"           // that a passage begins on, from 1
	PageEndKey          = "page_end"       // that it ends on; absent where that is PageKey's
	OCRConfidenceKey    = "ocr_confidence" // from 0 to 100, of a page whose letters were recognised
	BeginKey            = "begin"          // of a passage, in bytes of the document's text
	EndKey              = "end"
	// The same beginning in code points and in units of UTF-16; absent where it is BeginKey's.
	BeginCodePointsKey = "begin_codepoints"
	BeginUTF16Key      = "begin_utf16"
	// DocumentRootKey marks documents that follow the files of a folder: with which they are
	// replaced and removed.
	DocumentRootKey = "document_root"
	// DocumentOriginalKey says where the file of the document is kept: OriginalCopy, or OriginalFile followed by the
	// path below the folder with the mark DocumentRootKey. Absent where it is not kept.
	DocumentOriginalKey = "document_original"
	// DocumentRevisionKey holds a fingerprint of the document's tags and metadata, where a store
	// that changes its passages one by one needs it.
	DocumentRevisionKey = "document_revision"
	// TextBeforeKey holds what stands in the document's text between a passage and the one
	// before it, such as headings; absent where that is Gap, or of the first passage nothing.
	TextBeforeKey = "text_before"
	// TextAfterKey holds what stands behind the last passage.
	TextAfterKey = "text_after"
)

// The values of DocumentOriginalKey.
const (
	// OriginalCopy: the collection has a copy of the file, by its SHA-256.
	OriginalCopy = "copy"
	// OriginalFile, followed by a path with slashes: the file is where it was read, below a folder that is followed.
	OriginalFile = "file:"
)

// Gap usually stands between two passages of a document.
const Gap = "\n\n"

var documentKeys = []string{
	DocumentKey,
	DocumentTitleKey,
	DocumentSourceKey,
	DocumentSHA256Key,
	DocumentPassagesKey,
	DocumentBytesKey,
	DocumentRootKey,
	DocumentOriginalKey,
	DocumentRevisionKey,
	MediaTypeKey,
	ModifiedKey,
	HeadingKey,
	PageKey,
	PageEndKey,
	OCRConfidenceKey,
	BeginKey,
	EndKey,
	BeginCodePointsKey,
	BeginUTF16Key,
	TextBeforeKey,
	TextAfterKey,
}

// DocumentKeys returns the keys of metadata that documents use themselves and users cannot set.
func DocumentKeys() []string { return slices.Clone(documentKeys) }

// Document describes the document that some passages were cut from.
type Document struct {
	ID     string `json:"id"`
	Title  string `json:"title,omitempty"`
	Source string `json:"source"` // where it is from; its id where nobody said
	// MediaType is what its file was found to be.
	MediaType string `json:"media_type,omitempty"`
	SHA256    string `json:"sha256,omitempty"` // of its file, in hexadecimal
	Bytes     int    `json:"bytes,omitempty"`  // of its file; 0 where the passages do not say it
	// Modified is when its file was changed last; zero where that is not known.
	Modified time.Time `json:"modified,omitzero"`
	Passages int       `json:"passages"` // how many it has; 0 where they do not say it
	Tags     []string  `json:"tags,omitempty"`
	// Root marks the folder whose files it follows; "" where it follows none.
	Root string `json:"root,omitempty"`
	// Original says how the document's file is kept: "copy", in the collection; "file", where it was read, for as long
	// as it does not change; "": it is not kept.
	Original string `json:"original,omitempty"`
	// OriginalPath is the file's path below its folder, with slashes, if Original is "file".
	OriginalPath string `json:"-"`
	// Revision tells versions apart that differ in tags or metadata alone; "" where nobody needs it.
	Revision string `json:"-"`
	// Metadata is what its passages have in common beside what is named above.
	Metadata map[string]any `json:"metadata,omitempty"`
}

// PassageID returns the id of a passage of a document, by its number from 1.
func PassageID(document string, number int) string { return document + "#" + strconv.Itoa(number) }

// SplitPassageID returns the document and the number in an id that PassageID made; ok is false for any other id.
func SplitPassageID(id string) (document string, number int, ok bool) {
	at := strings.LastIndexByte(id, '#')
	if at < 1 {
		return "", 0, false
	}
	number, err := strconv.Atoi(id[at+1:])
	if err != nil || number < 1 || strconv.Itoa(number) != id[at+1:] {
		return "", 0, false
	}
	return id[:at], number, true
}

// DocumentOf returns the document that a passage belongs to, and the passage's number in it, from 1. ok is false if
// it belongs to none: its metadata name no document, or its id is not the document's with # and a number. Fields of
// the document that the passage does not have are zero; Source is then the document's id. Tags are those of p, not
// a copy.
func DocumentOf(p *Passage) (d Document, number int, ok bool) {
	d.ID, _ = p.Metadata[DocumentKey].(string)
	digits, isPassage := strings.CutPrefix(p.ID, d.ID+"#")
	number, err := strconv.Atoi(digits)
	if d.ID == "" || !isPassage || err != nil || number < 1 || strconv.Itoa(number) != digits {
		return Document{}, 0, false
	}
	text := func(key string) string { s, _ := p.Metadata[key].(string); return s }
	d.Title, d.Source = text(DocumentTitleKey), text(DocumentSourceKey)
	d.Root = text(DocumentRootKey)
	d.Revision = text(DocumentRevisionKey)
	d.Original = text(DocumentOriginalKey)
	if path, file := strings.CutPrefix(d.Original, OriginalFile); file {
		d.Original, d.OriginalPath = "file", path
	}
	d.MediaType, d.SHA256 = text(MediaTypeKey), text(DocumentSHA256Key)
	if d.Source == "" {
		d.Source = d.ID
	}
	d.Modified, _ = time.Parse(time.RFC3339, text(ModifiedKey))
	if n, known := WholeNumber(p.Metadata[DocumentPassagesKey]); known {
		d.Passages = n
	}
	d.Bytes, _ = WholeNumber(p.Metadata[DocumentBytesKey])
	d.Tags = p.Tags
	for key, value := range p.Metadata {
		if slices.Contains(documentKeys, key) {
			continue
		}
		if d.Metadata == nil {
			d.Metadata = map[string]any{}
		}
		d.Metadata[key] = value
	}
	return d, number, true
}

// WholeNumber returns the integer in a value of metadata: an int64, int or json.Number, or a float64 without a
// fraction. ok is false for anything else, and the number is then of no use.
func WholeNumber(value any) (int, bool) {
	switch n := value.(type) {
	case int64:
		return int(n), true
	case int:
		return n, true
	case float64: // decoded without care
		return int(n), n == float64(int(n))
	case json.Number:
		i, err := n.Int64()
		return int(i), err == nil
	}
	return 0, false
}

// PlaceInDocument returns which bytes of its document's text a passage is; ok is false if its metadata do not say that.
func PlaceInDocument(p *Passage) (begin, end int, ok bool) {
	begin, known := WholeNumber(p.Metadata[BeginKey])
	end, ended := WholeNumber(p.Metadata[EndKey])
	return begin, end, known && ended && 0 <= begin && begin <= end
}

// OwnText returns the part of a passage's text that stands in its document: the text without the context, such as
// headings, that was put before it. It returns the whole text if the passage's metadata do not say where it stands.
func OwnText(p *Passage) string {
	begin, end, ok := PlaceInDocument(p)
	if !ok || end-begin > len(p.Text) {
		return p.Text
	}
	return p.Text[len(p.Text)-(end-begin):]
}

// TextBefore returns the text of a document between a passage and the one before it, which belongs to neither. number
// is the passage's, from 1. If the metadata do not have it, it is Gap, or "" for the first passage.
func TextBefore(p *Passage, number int) string {
	if text, ok := p.Metadata[TextBeforeKey].(string); ok {
		return text
	}
	if number == 1 {
		return ""
	}
	return Gap
}

// JoinDocument returns the text of a document from all its passages in their order; "" for none. It returns an
// error if they do not fit together, for example because one was changed by itself.
func JoinDocument(passages []Passage) (string, error) {
	var text strings.Builder
	for i := range passages {
		p := &passages[i]
		begin, end, ok := PlaceInDocument(p)
		if !ok {
			return "", fmt.Errorf("passage %q does not say where it stands in its document", p.ID)
		}
		text.WriteString(TextBefore(p, i+1))
		if text.Len() != begin || end-begin > len(p.Text) {
			return "", fmt.Errorf(
				"passage %q stands at bytes %d to %d of its document, which do not fit the passages around it: put the document anew",
				p.ID, begin, end,
			)
		}
		text.WriteString(p.Text[len(p.Text)-(end-begin):]) // what stands before that was repeated for it
		if after, ok := p.Metadata[TextAfterKey].(string); ok && i == len(passages)-1 {
			text.WriteString(after)
		}
	}
	return text.String(), nil
}
