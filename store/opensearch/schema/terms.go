package schema

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/spelling"
)

// A passage's values of metadata are the terms of one field, so that a mapping does not grow with the
// keys that people use, and a key may have numbers in one passage and words in another. A term is the
// key, a zero byte, the kind, and the value: a word as it is, of the other kinds the key by which they
// are ordered in hexadecimal, so that a range of values is a range of terms. For each value there
// is a term with its kind alone, too, behind markKind, and every passage has markValues.
const (
	markKind   = "?"
	markValues = "\x00"
	// PlainWord marks, behind markKind, fields with a word that is no date.
	PlainWord = 'p'
)

// ValueTerms returns the terms of a passage in the index field FieldValues, sorted and without duplicates:
//
//  1. markValues, for every passage.
//  2. For each metadata field, a KindTerm of each kind that its value has (conditions.Each). A text that is no date
//     has the KindTerm of PlainWord, too.
//  3. A term of each value and kind. A value of kind conditions.Long has only its KindTerm.
func ValueTerms(p *corpus.Passage) []string {
	terms := []string{markValues}
	dates := map[string]bool{}
	conditions.Each(p.Metadata, func(d conditions.Datum) { dates[d.Field] = dates[d.Field] || d.Kind == conditions.Dates })
	conditions.Each(p.Metadata, func(d conditions.Datum) {
		terms = append(terms, KindTerm(d.Field, byte(d.Kind)))
		switch {
		case d.Kind == conditions.Words:
			terms = append(terms, ValueTerm(d.Field, d.Kind)+d.Text)
			if !dates[d.Field] {
				terms = append(terms, KindTerm(d.Field, PlainWord))
			}
		case d.Kind != conditions.Long:
			terms = append(terms, KeyTerm(d.Field, d.Kind, d.Key))
		}
	})
	slices.Sort(terms)
	return slices.Compact(terms)
}

// KindTerm returns the term of passages that have a value of a kind in a field. kind is a conditions.Kind, or
// PlainWord.
func KindTerm(field string, kind byte) string { return field + "\x00" + markKind + string(rune(kind)) }

// ValueTerm returns the beginning of the terms of a kind of values in a field; for a word, the word follows.
func ValueTerm(field string, kind conditions.Kind) string { return field + "\x00" + string(rune(kind)) }

// KeyTerm returns the term of a value other than a word, by the key that orders values of its kind.
func KeyTerm(field string, kind conditions.Kind, key uint64) string {
	return ValueTerm(field, kind) + fmt.Sprintf("%016x", key)
}

// SpelledWords returns the words of a passage, and the other forms that words of questions may have
// (forms.Analysis.Forms), each once: for finding misspelt words. Words with digits or signs are left out, since those
// count as no misspelling.
func SpelledWords(analysis forms.Analysis, p *corpus.Passage) []string {
	out := append([]string{}, spelling.Distinct(p.Title, p.Text)...)
	words := len(out)
	for _, form := range analysis.Forms(p.Title, p.Text) {
		letters := form[1:] // without the mark
		if letters != "" && utf8.RuneCountInString(letters) <= spelling.LongestWord &&
			!strings.ContainsFunc(letters, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
			out = append(out, form)
		}
	}
	slices.Sort(out[words:])
	return out[:words+len(slices.Compact(out[words:]))]
}
