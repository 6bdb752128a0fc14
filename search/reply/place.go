package reply

import (
	"unicode/utf8"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/internal/run"
)

// Place is the document that a passage was cut from, and the passage's heading and pages there. It is empty for a
// passage without a document.
type Place struct {
	Document *DocumentReference `json:"document,omitempty"`
	// Heading has the headings above the passage, outermost first, with " › " between them.
	Heading string `json:"heading,omitempty"`
	Page    int    `json:"page,omitempty"`     // the page, slide or sheet on which it begins, from 1; 0: not known
	PageEnd int    `json:"page_end,omitempty"` // the page on which it ends; 0: it ends on Page
	// Link is the address of the document with the place of the passage in it, for a browser; "": it is not on the web.
	Link string `json:"link,omitempty"`
}

// DocumentReference names a document.
type DocumentReference struct {
	ID     string `json:"id"`
	Title  string `json:"title,omitempty"`
	Source string `json:"source"` // the address or path that it is from, or else its id
}

// Extent is the position of a passage in its document's text, in the unit of Request.Offsets. Both are nil if it is not
// known.
type Extent struct {
	Begin *int `json:"begin,omitempty"`
	End   *int `json:"end,omitempty"`
}

// PlaceOf returns the place of a passage by its metadata; the zero Place if the passage is of no document.
func PlaceOf(p *corpus.Passage) (at Place) {
	document, _, ok := corpus.DocumentOf(p)
	if !ok {
		return at
	}
	at.Document = &DocumentReference{ID: document.ID, Title: document.Title, Source: document.Source}
	at.Heading, _ = p.Metadata[corpus.HeadingKey].(string)
	at.Page, _ = corpus.WholeNumber(p.Metadata[corpus.PageKey])
	at.PageEnd, _ = corpus.WholeNumber(p.Metadata[corpus.PageEndKey])
	at.Link = linkOf(p, document.Source, at.Page)
	return at
}

// Bytes returns about how many bytes the place and an Extent take as JSON; 0 for the zero Place.
func (p *Place) Bytes() int {
	if p.Document == nil {
		return 0
	}
	const around = 128 // names, numbers and quotes
	return around + len(p.Document.ID) + len(p.Document.Title) + len(p.Document.Source) + len(p.Heading) + len(p.Link)
}

// ExtentOf returns the extent of a passage in a unit of OffsetNames; the zero Extent if it is not known.
func ExtentOf(p *corpus.Passage, unit string) (at Extent) {
	begin, own, ok := ownText(p, unit)
	if _, _, cut := corpus.DocumentOf(p); ok && cut {
		end := begin + (&Counter{Text: own, Unit: unit}).CountTo(len(own))
		at.Begin, at.End = &begin, &end
	}
	return at
}

// PlaceOfByte returns the position of a byte of a passage's text in the document's text, in a unit of OffsetNames. It
// returns nil if the position is not known, or if the byte is not from the document, such as one of the context that
// was added before the text.
func PlaceOfByte(p *corpus.Passage, at int, unit string) *int {
	begin, own, ok := ownText(p, unit)
	before := len(p.Text) - len(own)
	if _, _, cut := corpus.DocumentOf(p); !ok || !cut || at < before {
		return nil
	}
	return run.Ptr(begin + (&Counter{Text: own, Unit: unit}).CountTo(at-before))
}

// ownText returns the part of a passage's text that is from its document, and where it begins in the document's text,
// in a unit of OffsetNames. ok is false if that is not known.
func ownText(p *corpus.Passage, unit string) (begin int, text string, ok bool) {
	first, last, ok := corpus.PlaceInDocument(p)
	if !ok || last-first > len(p.Text) {
		return 0, "", false
	}
	key := map[string]string{OffsetCodePoints: corpus.BeginCodePointsKey, OffsetUTF16: corpus.BeginUTF16Key}[unit]
	begin = first
	if n, differs := corpus.WholeNumber(p.Metadata[key]); differs {
		begin = n
	}
	return begin, p.Text[len(p.Text)-(last-first):], true
}

// OffsetBytes is the unit of bytes of UTF-8, as Go and Rust slice strings.
const OffsetBytes = "bytes" // of UTF-8, as Go and Rust slice

// OffsetNames returns the values that Request.Offsets may have.
func OffsetNames() []string { return []string{OffsetBytes, OffsetCodePoints, OffsetUTF16} }

// Counter converts positions in a text from bytes to another unit. Positions in ascending order are converted in one
// pass over the text.
type Counter struct {
	Text  string
	Unit  string
	at, n int // n units come before byte at
}

// CountTo converts at, a position in the text in bytes, to the counter's unit. at has to be where a character begins,
// or the length of the text. CountTo may be called in any order, but a position below the one before is counted from
// the beginning of the text. If at is outside the text, it panics, or with OffsetBytes returns at.
func (c *Counter) CountTo(at int) int {
	if c.Unit == OffsetBytes {
		return at
	}
	if at < c.at {
		c.at, c.n = 0, 0
	}
	between := c.Text[c.at:at]
	c.n += utf8.RuneCountInString(between)
	if c.Unit == OffsetUTF16 {
		// A character of four bytes is a surrogate pair.
		for i := range len(between) {
			if between[i] >= 0xf0 {
				c.n++
			}
		}
	}
	c.at = at
	return c.n
}

// The other units of positions in texts.
const (
	OffsetCodePoints = "codepoints" // as Python slices strings
	OffsetUTF16      = "utf16"      // 16-bit units, as JavaScript, Java and C# slice strings
)
