// Package languages tells in which languages texts are, by the frequencies of their triples of letters.
package languages

import (
	"cmp"
	"maps"
	"slices"

	"github.com/abadojack/whatlanggo"
)

// A language counts as one of a collection with this share of the texts that tell theirs. Less is as
// likely a text that was taken for another language than it is in.
const leastShare = .1

// Of returns the languages of texts by their codes (ISO 639-1; 639-3 where it has none), the most
// frequent first. Texts that are too short, or of which it is not clear, say nothing.
func Of(texts []string) (codes []string) {
	count := map[string]int{}
	all := 0
	for _, text := range texts {
		if code, ok := languageOf(text); ok {
			count[code]++
			all++
		}
	}
	codes = slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	return slices.DeleteFunc(codes, func(code string) bool { return float64(count[code]) < leastShare*float64(all) })
}

// languageOf returns the language of a text; ok is false where that is not clear.
func languageOf(text string) (code string, ok bool) {
	found := whatlanggo.Detect(text)
	if !found.IsReliable() {
		return "", false
	}
	code = codeOf(found.Lang)
	return code, code != ""
}
