// Package spelling finds words that are written almost like another one: the words of a
// collection, or of an encoder's vocabulary, that a mistyped word of a question may have
// been meant as.
package spelling

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// LongestWord is the largest number of letters of a word in a Lexicon.
const LongestWord = 32

// Words calls yield with the words of a text in lower case, in order and with repetitions: runs of letters, of at most
// LongestWord. A run next to a digit or an underscore belongs to an identifier and is left out.
func Words(text string, yield func(word string)) {
	for len(text) > 0 {
		run, letters, wordy := wordSpan(text)
		if letters && run <= LongestWord*utf8.UTFMax {
			word := strings.ToLower(text[:run])
			if n := utf8.RuneCountInString(word); n <= LongestWord {
				yield(word)
			}
		}
		if !wordy {
			_, run = utf8.DecodeRuneInString(text)
		}
		text = text[run:]
	}
}

// wordSpan returns the length in bytes of the run of letters, digits and underscores that a text begins with; letters
// reports whether it has letters only, and wordy whether there is one.
func wordSpan(text string) (length int, letters, wordy bool) {
	letters = true
	for i := 0; i < len(text); {
		c := rune(text[i])
		size := 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRuneInString(text[i:])
		}
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsMark(c)):
		case c == '_' || unicode.IsDigit(c):
			letters = false
		default:
			return i, letters && i > 0, i > 0
		}
		i += size
	}
	return len(text), letters && len(text) > 0, len(text) > 0
}
