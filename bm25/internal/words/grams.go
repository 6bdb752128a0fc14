package words

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Gram is how the characters of scripts that are written without spaces, or whose words are long, become words.
type Gram int

// The lengths of a Gram, in code points.
const (
	NoGram Gram = 0 // the word is one to the word rules
	Pair   Gram = 2 // of Chinese, Japanese and Korean: all characters and pairs, as by Lucene's CJKBigramFilter
	Triple Gram = 3 // of Thai, Lao, Khmer and Burmese, of whose letters a syllable has two to four
)

// A GramScanner finds the words of a text as a Scanner does, but takes stretches of scripts that are written without
// spaces apart, into all sequences of so many characters as their Gram has, which overlap; of Pair also into the
// characters. A stretch that is not longer is one word. Without Grams, it finds the words of its Scanner.
type GramScanner struct {
	Scanner
	Grams bool

	gram     Gram // of the stretch; NoGram: Next reads on
	from, to int  // what is left of the stretch
	end      int
	last     Gram
	single   bool // the character at from was returned, and its pair comes next
}

// GramsOf returns a scanner at the beginning of a text.
func GramsOf(text string) GramScanner { return GramScanner{Scanner: Of(text), Grams: true} }

// At returns the offset in bytes at which the word ends that Next returned last: 0 before the first call, and
// len(text) once Next has returned "".
func (s *GramScanner) At() int { return s.end }

// Gram returns of which kind the word is that Next returned last.
func (s *GramScanner) Gram() Gram { return s.last }

// Next returns the next word as it stands in the text, and "" after the last one. Of a stretch, the words come in the
// order of where they begin, a character before its pair.
func (s *GramScanner) Next() string {
	if s.gram == NoGram {
		word := s.Scanner.Next()
		s.end = s.Scanner.At()
		if s.Grams {
			s.last = s.tables.gramOf(word)
		}
		if s.last == NoGram {
			return word
		}
		s.from, s.to, s.gram = s.end-len(word), s.end, s.last
		s.readStretch()
	}
	_, first := utf8.DecodeRuneInString(s.text[s.from:])
	from := s.from
	if s.gram == Pair && !s.single {
		s.end = from + first
		s.single = true
		if s.end == s.to { // the last has no pair
			s.gram, s.single = NoGram, false
		}
		return s.text[from:s.end]
	}
	s.single = false
	s.end = from
	for range int(s.gram) {
		_, size := utf8.DecodeRuneInString(s.text[s.end:s.to])
		s.end += size
	}
	s.from += first
	if s.gram != Pair && s.end == s.to {
		s.gram = NoGram
	}
	return s.text[from:s.end]
}

// readStretch moves s.to, and the scanner, behind the words of the same Gram that follow without anything between.
func (s *GramScanner) readStretch() {
	for {
		before := s.at
		word := s.Scanner.Next()
		if s.at-len(word) != s.to || s.tables.gramOf(word) != s.gram {
			s.at = before
			return
		}
		s.to = s.at
	}
}

// gramOf returns which Gram a word of the word rules becomes: Pair if all its letters are Han, Hiragana, Katakana or
// Hangul, Triple if it is of a script whose words need a dictionary.
func (t *tables) gramOf(word string) Gram {
	first, _ := utf8.DecodeRuneInString(word)
	switch sets := t.sets[t.class(first)]; {
	case word == "":
		return NoGram
	case (hasSet(sets, "Han") || hasSet(sets, "Hiragana")) && !hasSet(sets, "Letter"):
		return Pair // alone in its word, with its marks; a sign that repeats an ideograph is a letter to the word rules
	case hasSet(sets, "SouthEastAsian"):
		return Triple
	case hasSet(sets, "Katakana"):
		return t.pairIf(word, func(_ rune, sets []string) bool { return hasSet(sets, "Katakana") })
	case unicode.Is(unicode.Hangul, first):
		return t.pairIf(word, func(r rune, _ []string) bool { return unicode.Is(unicode.Hangul, r) })
	}
	return NoGram
}

// pairIf returns Pair if all code points of a word are letters, as isLetter reports by the sets of their class, or
// marks; else NoGram.
func (t *tables) pairIf(word string, isLetter func(r rune, sets []string) bool) Gram {
	for _, r := range word {
		if sets := t.sets[t.class(r)]; !hasSet(sets, "Extend") && !isLetter(r, sets) {
			return NoGram
		}
	}
	return Pair
}

// hasSet reports whether a set of code points is among those of a class.
func hasSet(sets []string, set string) bool { return slices.Contains(sets, set) }

// splitSets returns the sets of each class.
func splitSets(classes []string) [][]string {
	out := make([][]string, len(classes))
	for i, sets := range classes {
		out[i] = strings.Split(sets, "+")
	}
	return out
}
