package content

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/internal/corpus"
)

// WordIn is a word in lower case and its place in a text, in bytes.
type WordIn struct {
	Lower      string
	Begin, End int
	Capital    bool // it begins with a capital letter
}

// WordsIn returns the words of a text in their order. A word is a run of letters, digits and combining marks.
func WordsIn(text string) (out []WordIn) {
	begin := -1
	for i, r := range text + " " {
		inside := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		if inside && begin < 0 {
			begin = i
		}
		if !inside && begin >= 0 {
			first, _ := utf8.DecodeRuneInString(text[begin:])
			out = append(out, WordIn{strings.ToLower(text[begin:i]), begin, i, unicode.IsUpper(first)})
			begin = -1
		}
	}
	return out
}

// HasDigit reports whether a text has a digit of any script.
func HasDigit(text string) bool { return strings.ContainsFunc(text, unicode.IsDigit) }

// BareWord returns a word without the punctuation around it.
func BareWord(word string) string {
	return strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

// Capitals returns the words of a text with a capital letter that do not begin a sentence, without punctuation around
// them. Words of one letter are left out.
func Capitals(text string) (out []string) {
	words := strings.Fields(text)
	for i, word := range words {
		if i == 0 || endsSentence(words[i-1]) {
			continue
		}
		word = BareWord(word)
		if first, size := utf8.DecodeRuneInString(word); unicode.IsUpper(first) && size < len(word) {
			out = append(out, word)
		}
	}
	return out
}

// CapitalsTell reports whether capital letters inside the sentences of a text are rare enough (mostCapitals) to mark
// names. True for a text with no words inside a sentence.
func CapitalsTell(text string) bool {
	words := strings.Fields(text)
	inside := 0
	for i := range words {
		if i > 0 && !endsSentence(words[i-1]) {
			inside++
		}
	}
	return float64(len(Capitals(text))) <= mostCapitals*float64(inside)
}

// mostCapitals is the greatest share of capitalised words, among those that do not begin a sentence, at which a capital
// letter marks a name. In a German text, or a list of titles, the share is greater.
const mostCapitals = .2

// endsSentence reports whether a word ends with punctuation after which a sentence or a quotation may begin, such as a
// full stop or a colon; closing quotation marks and brackets may follow it.
func endsSentence(word string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(word, `"'”’»)`))
	return strings.ContainsRune(".?!:;…。？！", last)
}

// SharedPrefix returns the number of letters that two words share at their beginning.
func SharedPrefix(a, b string) (n int) {
	other := []rune(b)
	for i, r := range []rune(a) {
		if i >= len(other) || other[i] != r {
			break
		}
		n++
	}
	return n
}

// IsNamed reports whether the word from byte start to end of a text is written as a name: with a capital letter inside
// a sentence, or in capitals alone, as in The Who, IT and US. It returns false for a word of one letter.
func IsNamed(text string, start, end int) bool {
	word := text[start:end]
	first, size := utf8.DecodeRuneInString(word)
	if !unicode.IsUpper(first) || size == len(word) {
		return false
	}
	if word == strings.ToUpper(word) {
		return true
	}
	before := strings.Fields(text[:start])
	return len(before) > 0 && !endsSentence(before[len(before)-1])
}

// notOfWord reports whether a character separates words: it is no letter, number or combining mark.
func notOfWord(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
}

// DistinctWords returns the words of a text, separated by white space, each once, in the order of their first places.
func DistinctWords(text string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(strings.Fields(text), func(word string) bool {
		twice := seen[word]
		seen[word] = true
		return twice
	})
}

// FieldOf returns the title of a passage if name is "title", else its text.
func FieldOf(p *corpus.Passage, name string) string {
	if name == "title" {
		return p.Title
	}
	return p.Text
}

// FindPhrase finds the words some, one after the other, among the words of a text, all; only their lower case counts.
// It returns the index in all of the first of them and the index after the last; -1 and -1 if the text does not have
// them or some is empty.
func FindPhrase(all, some []WordIn) (at, end int) {
	for at := 0; len(some) > 0 && at+len(some) <= len(all); at++ {
		same := true
		for i := range some {
			same = same && all[at+i].Lower == some[i].Lower
		}
		if same {
			return at, at + len(some)
		}
	}
	return -1, -1
}
