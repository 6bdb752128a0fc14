package documents

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// longestWord is how many bytes of the last word of a line are looked at.
const longestWord = 128

// joinHyphenated reports whether a text ends in a hyphenated word that continues in the next line, and how many bytes
// at its end, the hyphen, to drop. drop is 0 where the hyphen belongs to the word: before a capital or a digit, or if
// the word has another hyphen ("state-of-the-").
func joinHyphenated(text []byte, next string) (drop int, joined bool) {
	last, size := utf8.DecodeLastRune(text)
	if last != '-' && last != '\u2010' && last != '\u00AD' && last != '\u0002' && last != '\uFFFE' {
		return 0, false
	}
	stem := text[:len(text)-size]
	before, _ := utf8.DecodeLastRune(stem)
	after, _ := utf8.DecodeRuneInString(next)
	if !unicode.IsLetter(before) || !unicode.IsLetter(after) {
		return 0, false
	}
	if last == '\u00AD' || last == '\u0002' || last == '\uFFFE' { // the last two are PDFium's
		return size, true
	}
	word := stem[max(0, len(stem)-longestWord):]
	word = word[bytes.LastIndexFunc(word, unicode.IsSpace)+1:]
	if !unicode.IsLower(after) || bytes.ContainsAny(word, "-\u2010") || !unicode.IsLower(before) {
		return 0, true // the hyphen is the word's own
	}
	return size, true
}
