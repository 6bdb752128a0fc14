package generators

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/bm25"
)

// Sentence is a sentence that a model wrote, and what the passages that it cites say to it.
type Sentence struct {
	Text     string   // without its citations at the end
	Passages []int    // that it cites, by their places, from 0
	Unknown  []string // numbers that it cites and no passage has
	// Support is the share of its words that stand in the passages it cites, 0 to 1: 0 where it cites
	// none.
	Support float64
	// Supported: the passages that it cites say it, as far as words, numbers and names tell.
	Supported bool
	// Unfounded are its numbers and names that stand in none of the passages.
	Unfounded []string
}

// LeastSupport is the share of a sentence's words that have to stand in the passages that it cites
// (docs/generated.md has what others would tell). Its numbers and names have to stand there all.
const LeastSupport = .6

// passageWords are the words of each passage.
type passageWords struct{ own []map[string]bool }

// wordsOf returns the words of passages, with those of their titles and places.
func wordsOf(passages []Passage) *passageWords {
	out := &passageWords{}
	for _, p := range passages {
		words := map[string]bool{}
		for _, w := range bm25.Analyse(p.Title + " " + p.Place + " " + p.Text) {
			words[w] = true
		}
		out.own = append(out.own, words)
	}
	return out
}

// have reports whether a word stands in one of the passages.
func (p *passageWords) have(passages []int, word string) bool {
	return slices.ContainsFunc(passages, func(i int) bool { return p.own[i][word] })
}

// Check compares what a model wrote with the passages that it read.
func Check(text string, passages []Passage) (out []Sentence) {
	against := wordsOf(passages)
	for _, s := range sentencesOf(text) {
		out = append(out, against.check(text, s))
	}
	return out
}

// check compares a sentence of a text with the passages that it cites.
func (p *passageWords) check(text string, at span) Sentence {
	s := Sentence{Text: text[at.begin:at.end]}
	plain := cited.ReplaceAllStringFunc(text[at.begin:at.until], func(marks string) string {
		for _, digits := range number.FindAllString(marks, -1) {
			n, err := strconv.Atoi(digits)
			switch {
			case err != nil || n < 1 || n > len(p.own):
				s.Unknown = append(s.Unknown, digits)
			case !slices.Contains(s.Passages, n-1):
				s.Passages = append(s.Passages, n-1)
			}
		}
		return " "
	})
	terms := bm25.Analyse(plain)
	found := 0
	for _, w := range terms {
		if p.have(s.Passages, w) {
			found++
		}
	}
	if len(terms) > 0 {
		s.Support = float64(found) / float64(len(terms))
	}
	all := make([]int, len(p.own))
	for i := range all {
		all[i] = i
	}
	s.Unfounded = p.missing(plain, all)
	s.Supported = len(s.Passages) > 0 && len(s.Unknown) == 0 && s.Support >= LeastSupport &&
		len(p.missing(plain, s.Passages)) == 0
	return s
}

// missing returns the numbers of a sentence, and its words with a capital letter behind the first, that
// stand in none of some passages.
func (p *passageWords) missing(sentence string, passages []int) (missing []string) {
	for i, field := range strings.Fields(sentence) {
		field = strings.TrimFunc(field, func(r rune) bool { return !wordy(r) })
		first, _ := utf8.DecodeRuneInString(field)
		if !strings.ContainsFunc(field, unicode.IsDigit) && (i == 0 || !unicode.IsUpper(first)) {
			continue
		}
		if slices.ContainsFunc(bm25.Analyse(field), func(w string) bool { return !p.have(passages, w) }) &&
			!slices.Contains(missing, field) {
			missing = append(missing, field)
		}
	}
	return missing
}

// wordy reports whether a character is of a word.
func wordy(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
