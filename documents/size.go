package documents

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// tokensAWord is how many tokens count as a word. Prose has fewer (1.2 to 1.4 in English), so there the
	// words count; code, part numbers, tables and texts in scripts without spaces have more. Longest(100)
	// so is 256 tokens, what the shipped encoders read.
	tokensAWord = 1.6

	plainWord = 10 // letters that are about one token together, in a script that an encoder has words of
	morePiece = 5  // letters of each further token of a longer run
	digits    = 3  // of a token in a number of more than four
)

// sizeOf returns the length of a text in words: the number of words between white space, or the number that its tokens
// stand for if that is larger. Tokens are estimated as WordPiece would make them.
func sizeOf(text string) int {
	words := 0
	tokens := 0
	for rest := text; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		switch {
		case unicode.IsSpace(r):
		case latin(r):
			n = runOf(rest, func(r rune) bool { return latin(r) && !unicode.IsLower(r) })
			n += runOf(rest[n:], func(r rune) bool { return latin(r) && unicode.IsLower(r) }) // camelCase is two words
			tokens += 1 + max(0, n-plainWord+morePiece-1)/morePiece
		case unicode.IsDigit(r):
			n = runOf(rest, unicode.IsDigit)
			tokens += 1 + max(0, n-2)/digits
		default: // a sign, or a letter of a script of which an encoder has no more than the letters
			tokens++
		}
		if end := len(rest) - n; end == 0 || spaceAt(rest[n:]) {
			if !unicode.IsSpace(r) {
				words++
			}
		}
		rest = rest[n:]
	}
	return max(words, int(math.Ceil(float64(tokens)/tokensAWord)))
}

// runOf returns how many bytes at the beginning of a text are characters for which kind returns true.
func runOf(text string, kind func(rune) bool) int {
	if end := strings.IndexFunc(text, func(r rune) bool { return !kind(r) }); end >= 0 {
		return end
	}
	return len(text)
}

// latin reports whether a character is a letter of the Latin script.
func latin(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r > unicode.MaxASCII && unicode.Is(unicode.Latin, r)
}

// spaceAtEnd reports whether a text ends with white space.
func spaceAtEnd(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return unicode.IsSpace(r)
}

// spaceAt reports whether a text begins with white space.
func spaceAt(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsSpace(r)
}
