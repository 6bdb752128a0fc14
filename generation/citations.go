package generation

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/bm25"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// Sentence is a sentence that a model wrote, and what the passages that it cites say to it.
type Sentence struct {
	Begin, End int      // bytes of the text, without its citations at the end
	Passages   []int    // that it cites, by their places, from 0
	Unknown    []string // numbers that it cites and no passage has
	// Support is the share of its words that stand in the passages it cites, 0 to 1: 0 where it cites
	// none.
	Support float64
	// Unfounded are its numbers and names that stand in none of the passages.
	Unfounded []string
}

// cited are one or more citations: [1], [2, 3], [4][5].
var cited = regexp.MustCompile(`\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\]`)

// number is one of them.
var number = regexp.MustCompile(`\d+`)

// Check compares what a model wrote with the passages that it read.
func Check(text string, passages []Passage) []Sentence {
	words := make([]map[string]bool, len(passages))
	everywhere := map[string]bool{}
	for i, p := range passages {
		words[i] = map[string]bool{}
		for _, w := range bm25.Analyse(p.Title + " " + p.Place + " " + p.Text) {
			words[i][w], everywhere[w] = true, true
		}
	}
	var out []Sentence
	for _, span := range sentencesOf(text) {
		s := Sentence{Begin: span[0], End: span[1]}
		plain := cited.ReplaceAllStringFunc(text[s.Begin:span[2]], func(marks string) string {
			for _, digits := range number.FindAllString(marks, -1) {
				n, err := strconv.Atoi(digits)
				switch {
				case err != nil || n < 1 || n > len(passages):
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
			if slices.ContainsFunc(s.Passages, func(i int) bool { return words[i][w] }) {
				found++
			}
		}
		if len(terms) > 0 {
			s.Support = float64(found) / float64(len(terms))
		}
		s.Unfounded = unfounded(plain, everywhere)
		out = append(out, s)
	}
	return out
}

// unfounded returns the numbers, and the words with a capital letter behind the first, that are not
// among the words.
func unfounded(sentence string, words map[string]bool) (missing []string) {
	for i, field := range strings.Fields(sentence) {
		field = strings.TrimFunc(field, func(r rune) bool { return !wordy(r) })
		first, _ := utf8.DecodeRuneInString(field)
		if !strings.ContainsFunc(field, unicode.IsDigit) && (i == 0 || !unicode.IsUpper(first)) {
			continue
		}
		for _, w := range bm25.Analyse(field) {
			if !words[w] && !slices.Contains(missing, field) {
				missing = append(missing, field)
			}
		}
	}
	return missing
}

// wordy reports whether a character is of a word.
func wordy(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// sentencesOf returns where the sentences of a text begin and end, and where the citations behind
// each do.
func sentencesOf(text string) (spans [][3]int) {
	at := 0
	segments := sentences.FromString(text)
	for segments.Next() {
		segment := segments.Value()
		begin := at
		at += len(segment)
		// Citations behind a full stop are of the sentence before it.
		lead := 0
		for {
			rest := strings.TrimLeftFunc(segment[lead:], unicode.IsSpace)
			marks := cited.FindStringIndex(rest)
			if marks == nil || marks[0] != 0 || len(spans) == 0 {
				break
			}
			lead = len(segment) - len(rest) + marks[1]
		}
		if lead > 0 {
			spans[len(spans)-1][2] = begin + lead
		}
		body := segment[lead:]
		trimmed := strings.TrimSpace(body)
		if !strings.ContainsFunc(cited.ReplaceAllString(trimmed, ""), wordy) {
			continue
		}
		from := begin + lead + strings.Index(body, trimmed)
		until := from + len(trimmed)
		end := until
		for { // without the citations that it ends with
			rest := strings.TrimRightFunc(text[from:end], func(r rune) bool { return unicode.IsSpace(r) || r == '.' })
			all := cited.FindAllStringIndex(rest, -1)
			if len(all) == 0 || all[len(all)-1][1] != len(rest) {
				break
			}
			end = from + len(strings.TrimRightFunc(rest[:all[len(all)-1][0]], unicode.IsSpace))
		}
		spans = append(spans, [3]int{from, end, until})
	}
	return spans
}
