package reply

import (
	"unicode"
	"unicode/utf8"
)

// A Highlight is a word of a passage that tokens of the question matched best in late
// interaction, or the part by which an expert with parts scored the passage.
type Highlight struct {
	Field string `json:"field"` // "title" or "text"
	Start int    `json:"start"` // in what Request.Offsets counts
	End   int    `json:"end"`
	// Score is what the tokens that matched it by more than chance add to late interaction's score, or the
	// part's own.
	Score float64 `json:"score"`
}

// Trim leaves out what is around a word and is no part of it: brackets, a full stop.
func (h *Highlight) Trim(text string) {
	part := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }
	for h.Start < h.End {
		r, size := utf8.DecodeRuneInString(text[h.Start:h.End])
		if part(r) {
			break
		}
		h.Start += size
	}
	for h.Start < h.End {
		r, size := utf8.DecodeLastRuneInString(text[h.Start:h.End])
		if part(r) {
			break
		}
		h.End -= size
	}
}
