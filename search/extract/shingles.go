package extract

import (
	"strings"
	"unicode"
)

// Repeats reports whether two texts, given as Shingles, are near copies: the longer one has at least the share repeated
// of the shingles of the shorter one. It returns false if one is empty.
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

// Shingles returns the set of all runs of four consecutive words (shingle) of a text, in lower case and separated by
// spaces. Words are runs of letters and digits. A shorter text gives one run of all its words, an empty one none.
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

// shingle is the number of words in a shingle. Texts on one subject share few runs of four words.
const shingle = 4

// repeated is the share of a text's shingles that another has to have to be a near copy.
const repeated = 0.5
