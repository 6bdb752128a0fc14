package reply

import (
	"unicode/utf8"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/internal/run"
)

// Place names the document that a passage was cut from, and where in it the passage stands. It
// is empty for a passage of no document.
type Place struct {
	Document *DocumentReference `json:"document,omitempty"`
	// Heading is the path of the headings above the passage, with " › " between them.
	Heading string `json:"heading,omitempty"`
	Page    int    `json:"page,omitempty"`     // page, slide or sheet that it begins on, from 1
	PageEnd int    `json:"page_end,omitempty"` // page that it ends on; 0: it ends on Page
}

// DocumentReference names a document.
type DocumentReference struct {
	ID     string `json:"id"`
	Title  string `json:"title,omitempty"`
	Source string `json:"source"` // where it is from: an address or a path; its id where nobody said
}

// Extent is where a passage lies in its document's text, in what Request.Offsets counts; nil
// where that is not known.
type Extent struct {
	Begin *int `json:"begin,omitempty"`
	End   *int `json:"end,omitempty"`
}

// PlaceOf returns the place of a passage.
func PlaceOf(p *corpus.Passage) (at Place) {
	of, _, ok := corpus.DocumentOf(p)
	if !ok {
		return at
	}
	at.Document = &DocumentReference{ID: of.ID, Title: of.Title, Source: of.Source}
	at.Heading, _ = p.Metadata[corpus.HeadingKey].(string)
	at.Page, _ = corpus.WholeNumber(p.Metadata[corpus.PageKey])
	at.PageEnd, _ = corpus.WholeNumber(p.Metadata[corpus.PageEndKey])
	return at
}

// Bytes returns about what a place takes as JSON, and the extent beside it.
func (p *Place) Bytes() int {
	if p.Document == nil {
		return 0
	}
	const around = 128 // names, numbers and quotes
	return around + len(p.Document.ID) + len(p.Document.Title) + len(p.Document.Source) + len(p.Heading)
}

// ExtentOf returns the extent of a passage, counted in unit, one of OffsetNames.
func ExtentOf(p *corpus.Passage, unit string) (at Extent) {
	begin, own, ok := ownText(p, unit)
	if _, _, cut := corpus.DocumentOf(p); ok && cut {
		end := begin + (&Counter{Text: own, Unit: unit}).CountTo(len(own))
		at.Begin, at.End = &begin, &end
	}
	return at
}

// PlaceOfByte returns where a byte of a passage's text lies in the document; nil where it is in
// none, such as what was put before the text so that it can be understood.
func PlaceOfByte(p *corpus.Passage, at int, unit string) *int {
	begin, own, ok := ownText(p, unit)
	before := len(p.Text) - len(own)
	if _, _, cut := corpus.DocumentOf(p); !ok || !cut || at < before {
		return nil
	}
	return run.Ptr(begin + (&Counter{Text: own, Unit: unit}).CountTo(at-before))
}

// ownText returns the part of a passage's text that stands in its document, and where that
// begins there.
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

const OffsetBytes = "bytes" // of UTF-8, as Go and Rust slice

// OffsetNames lists what Request.Offsets may be.
func OffsetNames() []string { return []string{OffsetBytes, OffsetCodePoints, OffsetUTF16} }

// Counter turns places in a text from bytes into another count. Places that do not go
// back are counted in one pass over the text.
type Counter struct {
	Text  string
	Unit  string
	at, n int // n units come before byte at
}

// CountTo returns the place of a byte of the text.
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

// What the starts and ends of answers and highlights count.
const (
	OffsetCodePoints = "codepoints" // as Python slices
	OffsetUTF16      = "utf16"      // 16-bit units, as JavaScript, Java and C# slice
)
