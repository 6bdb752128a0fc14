package reply

import (
	"unicode"
	"unicode/utf8"
)

// Highlight is a word of a passage that the question's tokens matched best in late interaction, or the part of a
// passage by which an expert with parts scored it.
type Highlight struct {
	Field string `json:"field"` // "title" or "text"
	Start int    `json:"start"` // in the unit of Request.Offsets
	End   int    `json:"end"`
	// Score is the sum of the inner products of the tokens that match the word, without those that match random
	// passages as well; for a part, it is the part's score.
	Score float64 `json:"score"`
}

// Trim moves Start and End, which are bytes of text, past characters at either end that are no part of a word, such as
// brackets or a full stop. A highlight without letters and digits becomes empty.
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
