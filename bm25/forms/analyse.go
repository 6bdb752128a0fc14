package forms

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/blevesearch/go-porterstemmer"

	"example.org/conclave/bm25/internal/words"
	"example.org/conclave/internal/normalise"
)

// Analyse returns the terms of a text, in order and with repetitions, as Lucene 9.12's EnglishAnalyzer would: words
// (see words.Scanner), without a final 's, lower-cased, without 33 stop words, stemmed by Porter's algorithm. It
// accepts any bytes; a byte that is not UTF-8 separates words. It is nil for a text without terms.
func Analyse(text string) []string { return Lucene.Terms(text) }

// Terms returns the terms of a text, in order and with repetitions (see Analyse); nil if there are none. It accepts
// any bytes; one that is not UTF-8 separates words. The analysis Weighted gives what Lucene does.
func (analysis Analysis) Terms(text string) []string {
	a := NewAnalyser(analysis)
	var terms []string
	scanner := a.scan(a.Normalised(text))
	for word := scanner.Next(); word != ""; word = scanner.Next() {
		if term := a.Term(word); len(term) > 0 {
			terms = append(terms, string(term))
		}
	}
	return terms
}

// Analyser turns words into terms, in memory that it keeps from word to word.
// It is not safe for concurrent use.
type Analyser struct {
	Forms    bool        // words are found in other forms (Analysis.HasForms)
	language *language   // nil: English, or several
	several  []*language // of an Analysis of several languages, nil in the place of English; nil: of one
	lower    []byte
	letter   []rune
}

// NewAnalyser returns an analyser for an analysis.
func NewAnalyser(analysis Analysis) Analyser {
	return Analyser{Forms: analysis.HasForms(), language: analysis.rules(), several: analysis.severalRules()}
}

// scan returns a scanner of the words of a normalised text.
func (a *Analyser) scan(text string) words.GramScanner {
	if a.several != nil || a.language != nil && a.language.grams {
		return words.GramsOf(text)
	}
	return words.GramScanner{Scanner: words.Of(text)}
}

// IsEnglish reports whether the words are taken for English: whether the analysis is none of another language.
func (a *Analyser) IsEnglish() bool { return a.language == nil && a.several == nil }

// Normalised returns the text in which words are to be looked for: with the analysis Unicode its normal form, else the
// text itself.
func (a *Analyser) Normalised(text string) string {
	if a.Forms {
		return normalise.Words(text)
	}
	return text
}

// Term returns the term of a word; nil for a stop word. The bytes are valid until the next call of a method.
func (a *Analyser) Term(word string) []byte {
	if a.several != nil {
		a.lower = appendFolded(a.lower[:0], a.withoutClitic(word))
		return a.lower
	}
	if a.language != nil {
		if a.language.lower != nil {
			word = a.language.lower.Replace(word)
		}
		a.lower = appendFolded(a.lower[:0], word)
		term := a.language.termOf(string(a.lower))
		if term == "" {
			return nil
		}
		a.lower = append(a.lower[:0], term...)
		return a.lower
	}
	word = withoutPossessive(word)
	if a.Forms {
		a.lower = appendFolded(a.lower[:0], word)
	} else {
		a.lower = appendLower(a.lower[:0], word)
	}
	if isStopWord(a.lower) {
		return nil
	}
	a.stem()
	return a.lower
}

// withoutClitic returns a word without its clitic: in English without the possessive 's, in languages such as French
// without an elided article (eau for l'eau), in Turkish without the apostrophe and the ending after it. With several
// languages, the first one that finds a clitic decides. A word without a clitic is returned as it is.
func (a *Analyser) withoutClitic(word string) string {
	if a.several == nil {
		return a.language.withoutClitic(word)
	}
	for _, l := range a.several {
		if bare := l.withoutClitic(word); bare != word {
			return bare
		}
	}
	return word
}

// withoutPossessive returns a word without a final 's, with any of three apostrophes, as Lucene's
// EnglishPossessiveFilter does.
func withoutPossessive(word string) string {
	n := len(word)
	if n < 2 || word[n-1] != 's' && word[n-1] != 'S' {
		return word
	}
	for _, apostrophe := range [...]string{"'", "\u2019", "\uff07"} {
		if m := n - 1 - len(apostrophe); m >= 0 && word[m:n-1] == apostrophe {
			return word[:m]
		}
	}
	return word
}

// appendLower appends a word to out, each code point in lower case by Unicode's simple mapping, and returns the result.
func appendLower(out []byte, word string) []byte {
	for i := 0; i < len(word); i++ {
		c := word[i]
		if c >= utf8.RuneSelf {
			for _, r := range word[i:] {
				out = utf8.AppendRune(out, unicode.ToLower(r))
			}
			return out
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		out = append(out, c)
	}
	return out
}

// appendFolded appends a word in lower case to out and returns the result. A sigma at a word's end becomes any other
// sigma, since they have the same capital.
func appendFolded(out []byte, word string) []byte {
	from := len(out)
	out = appendLower(out, word)
	if bytes.ContainsRune(out[from:], 'ς') {
		out = append(out[:from], bytes.ReplaceAll(out[from:], []byte("ς"), []byte("σ"))...)
	}
	return out
}

// stemsOf returns the stems of a word, and of the word without its accents, in each of several languages; a language in
// which it is a function word has none. It returns nil with the analysis of one language.
func (a *Analyser) stemsOf(word string) (stems []string) {
	lower := ""
	for _, l := range a.several {
		if l == nil {
			for _, w := range []string{word, unaccented(string(appendFolded(nil, word)))} {
				english := Analyser{Forms: true}
				stems = append(stems, string(english.Term(w)))
			}
			continue
		}
		lower = word
		if l.lower != nil {
			lower = l.lower.Replace(word)
		}
		lower = string(appendFolded(nil, lower))
		stem := l.termOf(lower)
		stems = append(stems, stem)
		if stem != "" {
			stems = append(stems, l.termOf(unaccented(lower)))
		}
	}
	return stems
}

// isStopWord reports whether a word in lower case is one of the 33 in Lucene's English stop set.
func isStopWord(word []byte) bool {
	switch string(word) {
	case "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if",
		"in", "into", "is", "it", "no", "not", "of", "on", "or", "such", "that",
		"the", "their", "then", "there", "these", "they", "this", "to", "was",
		"will", "with":
		return true
	}
	return false
}

// StopWords returns the words for which Term returns nil, in lower case.
func StopWords() []string {
	return strings.Fields(`a an and are as at be but by for if in into is it no not of on or such that the their then
		there these they this to was will with`)
}

// stem replaces a.lower by its stem.
//
// The library is Porter's algorithm as its author's own program has it ("-bli"
// and "-logi" included), as is Lucene's PorterStemmer; of 230,250 words, real
// and made up, the two differed on three, for which a suffix is the whole word,
// and where a letter takes two UTF-16 units, since Lucene counts units. Both
// are mended here. snowballstem's "porter" is the algorithm as first published
// and differs on hundreds of common words (biology, assembly).
func (a *Analyser) stem() {
	switch string(a.lower) {
	case "sses":
		a.lower = append(a.lower[:0], "ss"...)
		return
	case "ies":
		a.lower = append(a.lower[:0], "i"...)
		return
	case "eed":
		return
	}
	a.letter = a.letter[:0]
	wide := false
	for i := 0; i < len(a.lower); {
		r := rune(a.lower[i])
		size := 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(a.lower[i:])
		}
		if r >= 0x10000 {
			wide = true
			high, low := utf16.EncodeRune(r)
			a.letter = append(a.letter, high, low)
		} else {
			a.letter = append(a.letter, r)
		}
		i += size
	}
	stem := porterstemmer.StemWithoutLowerCasing(a.letter)
	a.lower = a.lower[:0]
	for i := 0; i < len(stem); i++ {
		r := stem[i]
		if wide && utf16.IsSurrogate(r) && i+1 < len(stem) {
			i++
			r = utf16.DecodeRune(r, stem[i])
		}
		a.lower = utf8.AppendRune(a.lower, r)
	}
}
