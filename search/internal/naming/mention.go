// Package naming finds what a question names (people, places, products, part numbers, years, dates, quoted words) and
// tells whether a text names it, too. Two texts that name the same in another way, by inflection, an abbreviation, or
// another notation of a number or a date, name the same.
//
// Words used here:
//
//   - mention: one thing that a question names, such as Marie Curie, E23, 2019 or 29 May 1953;
//   - rival: what a text names in the place of a mention, such as part 541902 for part 541972.
package naming

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Kind says how a mention is written.
type Kind int

// The kinds of mentions.
const (
	Name   Kind = iota + 1 // words with capital letters
	Code                   // letters and digits, or a long number
	Number                 // digits alone, but for what stands between them
	Date                   // day, month and year
	Quoted                 // words in quotation marks
)

// Mention is one thing that a question names.
type Mention struct {
	Kind Kind
	// Words are its words as the question has them, without the punctuation around them.
	Words []string
	// Before is the word before it in lower case, as part is in part 541972; "" where there is none.
	Before string
	// After is the word behind it in lower case; "" where a sentence or a part of one ends there.
	After string
	dates []date
}

// Text returns the mention as the question has it.
func (m Mention) Text() string { return strings.Join(m.Words, " ") }

// Identifies reports whether a mention has so many digits that it stands for one thing alone, as a part's number.
func (m Mention) Identifies() bool {
	return m.Kind == Code && digitsOf(m.Words[0]) >= identifyingDigits
}

// identifyingDigits is how many digits a code has at least that identifies one thing.
const identifyingDigits = 3

// token is a word of a text between white space.
type token struct {
	raw  string
	bare string // without the punctuation around it, and without a possessive 's
	fold string // bare in lower case without accents
	// opens says that the word begins a sentence or something quoted; ends, that the next one does; pause, that
	// punctuation follows.
	opens, ends, pause bool
}

// tokensOf returns the words of a text.
func tokensOf(text string) []token {
	words := strings.Fields(text)
	tokens := make([]token, 0, len(words))
	opens := true
	for _, word := range words {
		t := token{raw: word, bare: bare(word), opens: opens}
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

// Bare returns a word of a question as mentions have it: without the punctuation around it and without a possessive 's.
func Bare(word string) string { return bare(word) }

// bare returns a word without the punctuation around it and without a possessive 's.
func bare(word string) string {
	word = strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	for _, possessive := range []string{"'s", "’s"} {
		if rest, ok := strings.CutSuffix(word, possessive); ok {
			return rest
		}
	}
	return word
}

// fold returns a word in lower case, in one form of its characters (NFKC), and without accents.
func fold(word string) string {
	var out strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(word)) {
		if !unicode.Is(unicode.Mn, r) {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// endsSentence reports whether the next word begins a sentence, or something quoted.
func endsSentence(word string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(word, `"'”’»)`))
	return strings.ContainsRune(".?!:;…。？！", last)
}

func hasDigit(word string) bool  { return strings.ContainsFunc(word, unicode.IsDigit) }
func hasLetter(word string) bool { return strings.ContainsFunc(word, unicode.IsLetter) }

// isCapital reports whether a word of several letters, before an apostrophe where it has one, begins with a capital
// letter. I'm does not.
func isCapital(word string) bool {
	if at := strings.IndexAny(word, "'’"); at >= 0 {
		word = word[:at]
	}
	first, size := utf8.DecodeRuneInString(word)
	return unicode.IsUpper(first) && size < len(word)
}

// isAcronym reports whether a word is of two or more capital letters alone.
func isAcronym(word string) bool {
	return utf8.RuneCountInString(word) > 1 && word == strings.ToUpper(word) && word != strings.ToLower(word) &&
		!hasDigit(word)
}

// idDigits is how many digits a number has at least that is no amount or year.
const idDigits = 5

// Language says how names are told in the language of a question.
type Language struct {
	Capitals bool // a capital letter inside a sentence tells a name
	// IsFunction reports whether a word, such as does and the, carries nothing of its own; nil: it is not known of any.
	IsFunction func(word string) bool
}

// Mentions returns what a question names, in its order. Capital letters tell no names in a question that writes most
// words with one, or a function word, as titles do.
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

// wordAt returns a word in lower case; "" where there is none, or punctuation follows it.
func wordAt(tokens []token, at int) string {
	if at < 0 || tokens[at].pause {
		return ""
	}
	return tokens[at].fold
}

// mostCapitals is the share of words with capital letters up to which these tell names.
const mostCapitals = .8

// capitalsTell reports whether the words of a question with capital letters are names: not where most words have one,
// or a function word, as in a title.
func capitalsTell(tokens []token, isFunction func(string) bool) bool {
	words, capitals := 0, 0
	for _, t := range tokens {
		if !hasLetter(t.bare) || t.opens {
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

// isCode reports whether a word has letters and digits, as E23, BD-500 and v2.3.1 have, but is no number with a unit or
// an ending, such as 50kg and 3rd.
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

func digitsOf(word string) (n int) {
	for _, r := range word {
		if unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// quotedLength returns how many words a quotation that begins a text has; 1 where it does not end.
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
