package calibration

import (
	"slices"
	"strings"
	"unicode"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
)

// hold finds the passages that answer a generated question: those that have all the words
// that were drawn.
func (q *Question) hold() {
	q.Relevant = map[rank.Ordinal]float64{}
	set := keysIn(q.Wording.Keys, q.drawn)
	if set == 0 {
		return
	}
	for _, o := range q.Table.Ordinals() {
		if q.Wording.Held(o)&set == set {
			q.Relevant[o] = 1
		}
	}
}

// keysIn returns the set of the keys that are among words.
func keysIn(keys fusion.Keys, words string) (set uint64) {
	drawn := strings.Fields(words)
	for i := range drawn {
		drawn[i] = bare(drawn[i])
	}
	for i, k := range keys.List {
		if slices.Contains(drawn, bare(k.Text)) {
			set |= 1 << i
		}
	}
	return set
}

// bare returns a word without the punctuation around it.
func bare(word string) string {
	return strings.TrimFunc(word, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) })
}
