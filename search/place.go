package search

import (
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

// bytes returns about what a place takes as JSON, and the extent beside it.
func (p *Place) bytes() int {
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
		end := begin + (&counter{text: own, unit: unit}).countTo(len(own))
		at.Begin, at.End = &begin, &end
	}
	return at
}

// placeOfByte returns where a byte of a passage's text lies in the document; nil where it is in
// none, such as what was put before the text so that it can be understood.
func placeOfByte(p *corpus.Passage, at int, unit string) *int {
	begin, own, ok := ownText(p, unit)
	before := len(p.Text) - len(own)
	if _, _, cut := corpus.DocumentOf(p); !ok || !cut || at < before {
		return nil
	}
	return run.Ptr(begin + (&counter{text: own, unit: unit}).countTo(at-before))
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
