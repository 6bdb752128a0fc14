package extract

import (
	"strings"
	"unicode"
)

// Repeats reports whether the longer of two texts, given as shingles, has at least the share repeated of the shorter
// one.
func Repeats(a, b map[string]bool) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	shared := 0
	for piece := range a {
		if b[piece] {
			shared++
		}
	}
	return len(a) > 0 && float64(shared) >= repeated*float64(len(a))
}

// Shingles returns the set of all runs of shingle consecutive words of a text, in lower case and without punctuation.
// A shorter text is one run; an empty one gives none.
func Shingles(text string) map[string]bool {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	out := make(map[string]bool, len(words))
	if len(words) > 0 && len(words) < shingle {
		out[strings.Join(words, " ")] = true
	}
	for i := shingle; i <= len(words); i++ {
		out[strings.Join(words[i-shingle:i], " ")] = true
	}
	return out
}

// shingle is of how many words the pieces are by which texts are compared, and repeated the share of
// the shorter text's pieces that the other has to have. Texts on one subject share few runs of four words.
const shingle = 4

const repeated = 0.5
