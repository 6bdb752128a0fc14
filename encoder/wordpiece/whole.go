package wordpiece

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// WholeWords returns the words of letters that are a piece of the vocabulary as they are, in a
// script that it covers, in the order of their ids: BERT's vocabularies begin with the most
// frequent ones. They are in lower case, and each is there once.
func (t *Tokenizer) WholeWords() []string { return t.whole }

// wholeWords makes what WholeWords returns.
func (t *Tokenizer) wholeWords(v *vocabulary) (words []string) {
	known := map[string]bool{}
	for _, piece := range slices.SortedFunc(maps.Keys(v.ids), func(a, b string) int { return v.ids[a] - v.ids[b] }) {
		word := strings.ToLower(piece)
		if known[word] || word == "" ||
			strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) || !t.covers(r) }) {
			continue
		}
		known[word] = true
		words = append(words, word)
	}
	return words
}
