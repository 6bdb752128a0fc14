package search

import (
	"unicode/utf8"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/internal/sources"
)

// What the starts and ends of answers and highlights count.
const (
	OffsetBytes      = "bytes"      // of UTF-8, as Go and Rust slice
	OffsetCodePoints = "codepoints" // as Python slices
	OffsetUTF16      = "utf16"      // 16-bit units, as JavaScript, Java and C# slice
)

// OffsetNames lists what Request.Offsets may be.
func OffsetNames() []string { return []string{OffsetBytes, OffsetCodePoints, OffsetUTF16} }

// counter turns places in a text from bytes into another count. Places that do not go
// back are counted in one pass over the text.
type counter struct {
	text  string
	unit  string
	at, n int // n units come before byte at
}

// countTo returns the place of a byte of the text.
func (c *counter) countTo(at int) int {
	if c.unit == OffsetBytes {
		return at
	}
	if at < c.at {
		c.at, c.n = 0, 0
	}
	between := c.text[c.at:at]
	c.n += utf8.RuneCountInString(between)
	if c.unit == OffsetUTF16 {
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

// countHighlights gives highlights of a passage the wanted count.
func (p *plan) countHighlights(title, text string, all []sources.Highlight, one *sources.Highlight) {
	if p.offsets == OffsetBytes {
		return
	}
	titles, texts := counter{text: title, unit: p.offsets}, counter{text: text, unit: p.offsets}
	count := func(h *sources.Highlight) {
		of := &texts
		if h.Field == "title" {
			of = &titles
		}
		h.Start, h.End = of.countTo(h.Start), of.countTo(h.End)
	}
	for i := range all {
		count(&all[i])
	}
	if one != nil {
		count(one)
	}
}

// countExtracts gives answers in passages the wanted count.
func (p *plan) countExtracts(all []Extract, passages []corpus.Passage) {
	if p.offsets == OffsetBytes {
		return
	}
	for i := range all {
		c := counter{text: passages[all[i].Reading].Text, unit: p.offsets}
		all[i].Start, all[i].End = c.countTo(all[i].Start), c.countTo(all[i].End)
	}
}
