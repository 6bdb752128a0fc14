// Package naming finds the names in a question (people, places, products, part numbers, years, dates, quoted words) and
// tells whether a text has them too. Inflected forms, abbreviations and other notations of a number or a date count as
// the same name.
//
// Words used here:
//
//   - mention: one name in a question, such as Marie Curie, E23, 2019 or 29 May 1953;
//   - rival: a different name that a text has instead of a mention, such as part 541902 instead of part 541972;
//   - folded: in lower case and without accents (fold).
package naming

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Kind is the kind of a mention, by how it is written.
type Kind int

// The kinds of mentions.
const (
	Name   Kind = iota + 1 // words with capital letters
	Code                   // letters and digits, or a long number
	Number                 // digits, perhaps with points, commas or other marks between them
	Date                   // day, month and year
	Quoted                 // words in quotation marks
)

// Mention is one name in a question.
type Mention struct {
	Kind Kind
	// Words are its words as the question has them, without punctuation around them and possessive 's (Bare).
	Words []string
	// Before is the folded word before it, such as part in part 541972; "": there is none, or punctuation
	// stands between.
	Before string
	// After is the folded word after it; "": there is none, or punctuation stands between.
	After string
	dates []date // of a Date, all that it can mean
}

// Text returns the words of the mention with a blank between them.
func (m Mention) Text() string { return strings.Join(m.Words, " ") }

// Identifies reports whether the mention is a Code with enough digits (identifyingDigits) to stand for one single
// thing, such as a part number.
func (m Mention) Identifies() bool {
	return m.Kind == Code && digitsOf(m.Words[0]) >= identifyingDigits
}

// identifyingDigits is the least number of digits of a code that identifies one thing.
const identifyingDigits = 3

// token is a word of a text, as separated by white space.
type token struct {
	raw  string
	bare string // without the punctuation around it, and without a possessive 's
	fold string // bare, folded
	// opens: the word begins a sentence or a quotation. ends: the next word does. pause: punctuation follows.
	opens, ends, pause bool
}

// tokensOf returns the words of a text in their order, without those that are only punctuation.
func tokensOf(text string) []token {
	words := strings.Fields(text)
	tokens := make([]token, 0, len(words))
	opens := true
	for _, word := range words {
		t := token{raw: word, bare: bareWord(word), opens: opens}
		t.fold = fold(t.bare)
		t.ends = endsSentence(word)
		trimmed := strings.TrimRightFunc(word, unicode.IsSpace)
		last, _ := utf8.DecodeLastRuneInString(trimmed)
		t.pause = unicode.IsPunct(last) && last != '-' && last != '\''
		opens = t.ends
		if t.bare != "" {
			tokens = append(tokens, t)
		}
	}
	return tokens
}

// Bare returns a word as Mention.Words has it: without the punctuation around it and without a possessive 's.
func Bare(word string) string { return bareWord(word) }

// bareWord returns a word without the punctuation around it and without a possessive 's.
func bareWord(word string) string {
	word = strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	for _, possessive := range []string{"'s", "’s"} {
		if rest, ok := strings.CutSuffix(word, possessive); ok {
			return rest
		}
	}
	return word
}

// fold returns a word in lower case and without accents, with compatibility characters decomposed (NFKD).
func fold(word string) string {
	var out strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(word)) {
		if !unicode.Is(unicode.Mn, r) {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// endsSentence reports whether a word ends with punctuation after which a sentence or a quotation may begin, such as a
// full stop or a colon; closing quotation marks and brackets may follow it.
func endsSentence(word string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(word, `"'”’»)`))
	return strings.ContainsRune(".?!:;…。？！", last)
}

// hasDigit reports whether a word has a decimal digit of any script.
func hasDigit(word string) bool { return strings.ContainsFunc(word, unicode.IsDigit) }

// hasLetter reports whether a word has a letter of any script.
func hasLetter(word string) bool { return strings.ContainsFunc(word, unicode.IsLetter) }

// isCapital reports whether a word begins with a capital letter and has at least two characters, without its part from
// an apostrophe on. It is false for I and I'm.
func isCapital(word string) bool {
	if at := strings.IndexAny(word, "'’"); at >= 0 {
		word = word[:at]
	}
	first, size := utf8.DecodeRuneInString(word)
	return unicode.IsUpper(first) && size < len(word)
}

// isAcronym reports whether a word has at least two characters, no small letter and no digit, such as WHO.
func isAcronym(word string) bool {
	return utf8.RuneCountInString(word) > 1 && word == strings.ToUpper(word) && word != strings.ToLower(word) &&
		!hasDigit(word)
}

// idDigits is the least number of digits of a number that counts as a Code and not as an amount or a year.
const idDigits = 5

// Language says how to recognise names in the language of a question.
type Language struct {
	Capitals bool // a capital letter inside a sentence marks a name; not so in German
	// IsFunction reports whether a word is a function word, such as does or the. Nil: none is known.
	IsFunction func(word string) bool
}

// Mentions returns the mentions in a question, in their order: names, codes, numbers, dates and quoted words. It
// returns nil if there are none. A capital letter marks a name only if in.Capitals is set. Even then it does not if
// most words of the question, or a function word inside it, have one, as in a title.
func Mentions(question string, in Language) []Mention {
	tokens := tokensOf(question)
	names := in.Capitals && capitalsTell(tokens, in.IsFunction)
	var out []Mention
	for i := 0; i < len(tokens); {
		m := Mention{Before: wordAt(tokens, i-1)}
		n := 1
		switch t := tokens[i]; {
		case strings.HasPrefix(t.raw, `"`) || strings.HasPrefix(t.raw, "“") || strings.HasPrefix(t.raw, "«"):
			n = quotedLength(tokens[i:])
			m.Kind = Quoted
		case dateLength(tokens[i:]) > 0:
			n = dateLength(tokens[i:])
			m.Kind = Date
			m.dates = datesAt(tokens[i : i+n])
		case isCode(t.bare):
			m.Kind = Code
		case hasDigit(t.bare) && !hasLetter(t.bare):
			m.Kind = Number
			if digitsOf(t.bare) >= idDigits && !strings.ContainsAny(t.bare, ".,'") {
				m.Kind = Code
			}
		case names && isCapital(t.bare) && (!t.opens || isAcronym(t.bare)):
			for i+n < len(tokens) && !tokens[i+n-1].pause && isCapital(tokens[i+n].bare) && !isCode(tokens[i+n].bare) {
				n++
			}
			m.Kind = Name
		}
		if m.Kind != 0 {
			for _, t := range tokens[i : i+n] {
				m.Words = append(m.Words, t.bare)
			}
			if i+n < len(tokens) && !tokens[i+n-1].pause {
				m.After = tokens[i+n].fold
			}
			out = append(out, m)
		}
		i += n
	}
	return out
}

// wordAt returns the folded word at an index; "" if the index is negative or punctuation follows the word.
func wordAt(tokens []token, at int) string {
	if at < 0 || tokens[at].pause {
		return ""
	}
	return tokens[at].fold
}

// mostCapitals is the greatest share of words with a capital letter at which these letters still mark names.
const mostCapitals = .8

// CapitalsTell reports whether capital letters mark names in a question. It is false if most of its words, or a
// function word inside a sentence, have one, as in a title and in a question that is typed in capitals.
func CapitalsTell(question string, in Language) bool {
	return in.Capitals && capitalsTell(tokensOf(question), in.IsFunction)
}

// capitalsTell reports whether capital letters mark names in the question with these tokens (CapitalsTell). isFunction
// may be nil.
func capitalsTell(tokens []token, isFunction func(string) bool) bool {
	words, capitals := 0, 0
	for _, t := range tokens {
		if !hasLetter(t.bare) || t.opens && isCapital(t.bare) { // every sentence begins with a capital letter
			continue
		}
		words++
		if !isCapital(t.bare) {
			continue
		}
		capitals++
		if isFunction != nil && !isAcronym(t.bare) && isFunction(t.bare) {
			return false
		}
	}
	return float64(capitals) <= mostCapitals*float64(words)
}

// isCode reports whether a word mixes letters and digits, such as E23, BD-500 and v2.3.1. A number followed by a unit
// or an ending, such as 50kg and 3rd, is no code.
func isCode(word string) bool {
	if !hasDigit(word) || !hasLetter(word) {
		return false
	}
	first, _ := utf8.DecodeRuneInString(word)
	if !unicode.IsDigit(first) {
		return true
	}
	rest := strings.TrimLeftFunc(word, func(r rune) bool { return unicode.IsDigit(r) || strings.ContainsRune(".,", r) })
	return hasDigit(rest) // of 50kg nothing
}

// digitsOf returns the number of digits in a word.
func digitsOf(word string) (n int) {
	for _, r := range word {
		if unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// quotedLength returns the number of words of the quotation that tokens begin with; 1 if its closing mark is missing.
func quotedLength(tokens []token) int {
	for i, t := range tokens {
		word := strings.TrimRight(t.raw, ".,;:?!")
		if i == 0 {
			_, size := utf8.DecodeRuneInString(word)
			word = word[size:] // without the mark that opens it
		}
		if strings.HasSuffix(word, `"`) || strings.HasSuffix(word, "”") || strings.HasSuffix(word, "»") {
			return i + 1
		}
	}
	return 1
}
