// Package languages tells in which languages texts are, by the frequencies of their triples of letters.
package languages

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/abadojack/whatlanggo"
)

// leastShare is the least share of the texts with a clear language that are in a language of a collection. Less is as
// likely to be texts that were taken for the wrong language.
const leastShare = .1

// Of returns the codes of the languages of texts (ISO 639-1, or 639-3 for a language without one), the most
// frequent first; nil if no text has a clear language. Texts that are too short, or unclear, do not count, and
// languages of less than a tenth of the others are left out.
func Of(texts []string) (codes []string) {
	for _, text := range texts {
		if code, ok := languageOf(text); ok {
			codes = append(codes, code)
		}
	}
	return MostFrequent(codes)
}

// MostFrequent returns the different codes in a list of the languages of texts, the most frequent first, without those
// of less than a tenth of the list; nil for an empty list. "" stands for a text whose language is not clear, which does
// not count.
func MostFrequent(ofTexts []string) (codes []string) {
	count := map[string]int{}
	all := 0
	for _, code := range ofTexts {
		if code != "" {
			count[code]++
			all++
		}
	}
	codes = slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	return slices.DeleteFunc(codes, func(code string) bool { return float64(count[code]) < leastShare*float64(all) })
}

// The language of a passage is told by its title and its first tellingBytes; less than shortest tells none, such as a
// name and a date. A script of few languages tells it by shortestOfScript.
const (
	tellingBytes     = 500
	shortest         = 80
	shortestOfScript = 20
)

// TellingPart returns what tells the language of a passage with a title, which may be empty, and a text: the beginning
// of both, or "" if the text is too short to tell.
func TellingPart(title, text string) string {
	otherScript := func(r rune) bool { return unicode.IsLetter(r) && !unicode.In(r, unicode.Latin, unicode.Common) }
	if len(text) < shortestOfScript || len(text) < shortest && !strings.ContainsFunc(text, otherScript) {
		return ""
	}
	return title + ". " + text[:min(tellingBytes, len(text))]
}

// OfPassage returns the code of the language of a passage with a title, which may be empty, and a text; "" if it is not
// clear.
func OfPassage(title, text string) (code string) {
	code, _ = languageOf(TellingPart(title, text))
	return code
}

// NameOf returns the English name of a language by its code, such as German for de; the code itself if it is unknown.
func NameOf(code string) string {
	if code == chinese { // the library names the one that is spoken
		return "Chinese"
	}
	for lang := range whatlanggo.Langs {
		if codeOf(lang) == code {
			return lang.String()
		}
	}
	return code
}

// languageOf returns the code of the language of a text; ok is false if it is not clear. code is "" then.
func languageOf(text string) (code string, ok bool) {
	found := whatlanggo.Detect(text)
	if !found.IsReliable() {
		return "", false
	}
	code = codeOf(found.Lang)
	return code, code != ""
}
