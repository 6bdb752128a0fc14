package bytepair

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// class is the class of a character in GPT-2's rule for words.
type class int

const (
	other class = iota
	letter
	number
	white
)

// classOf returns the class of a character.
func classOf(r rune) class {
	switch {
	case unicode.Is(unicode.White_Space, r):
		return white
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	}
	return other
}

// contractions are words by themselves.
var contractions = [...]string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}

// nextWord returns the length in bytes of the first word of a text, which must not be empty, by GPT-2's rule. It is
// the first of these that there is: a contraction; letters, numbers, or other characters, with one space before
// them; white space, without its last character if something follows and that leaves any.
func nextWord(text string) int {
	for _, c := range contractions {
		if strings.HasPrefix(text, c) {
			return len(c)
		}
	}
	at := 0
	if text[0] == ' ' {
		at = 1
	}
	if at < len(text) {
		first, _ := utf8.DecodeRuneInString(text[at:])
		if c := classOf(first); c != white {
			return at + classPrefix(text[at:], c)
		}
	}
	n := classPrefix(text, white)
	if n == len(text) {
		return n
	}
	_, last := utf8.DecodeLastRuneInString(text[:n])
	if last < n {
		return n - last
	}
	return n
}

// classPrefix returns the length in bytes of the characters of a class with which text begins; 0 if it begins with
// another class.
func classPrefix(text string, c class) (n int) {
	for n < len(text) {
		r, size := utf8.DecodeRuneInString(text[n:])
		if classOf(r) != c {
			break
		}
		n += size
	}
	return n
}
