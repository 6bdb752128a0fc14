package documents

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// unhyphenate joins a line that ends within a word with the next one. ok is false where
// the line does not end so, or the hyphen belongs to the word: before a capital or a
// digit, or after a part that is hyphenated already ("state-of-the-").
func unhyphenate(line, next string) (joined string, ok bool) {
	last, size := utf8.DecodeLastRuneInString(line)
	if last != '-' && last != '\u2010' && last != '\u00AD' && last != '\u0002' && last != '\uFFFE' {
		return "", false
	}
	stem := line[:len(line)-size]
	before, _ := utf8.DecodeLastRuneInString(stem)
	after, _ := utf8.DecodeRuneInString(next)
	if !unicode.IsLetter(before) || !unicode.IsLetter(after) {
		return "", false
	}
	if last == '\u00AD' || last == '\u0002' || last == '\uFFFE' { // the last two are PDFium's
		return stem + next, true
	}
	word := stem[strings.LastIndexFunc(stem, unicode.IsSpace)+1:]
	if !unicode.IsLower(after) || strings.ContainsAny(word, "-\u2010") || !unicode.IsLower(before) {
		return line + next, true // the hyphen is the word's own
	}
	return stem + next, true
}
