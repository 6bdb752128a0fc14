package ask

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/internal/languages"
)

// Typed reads a text as typed into a search box, and returns the question to ask and the words and phrases that
// passages must and must not have.
//
//  1. Words in double quotes become a phrase of must, and stay in the question without the quotes.
//  2. A word or a quoted phrase with - before it becomes one of mustNot, and is removed from the question. The -
//     counts only before a letter or quotes, so that -40 is a number.
//  3. NOT before a word or a quoted phrase is the same as -, in a text of search words, as "canal NOT Panama". In a
//     sentence, as "I can NOT log in", it is a word: where a function word of English stands before it, or where the
//     whole text is in capital letters.
//  4. Quotes without an end stay as they are.
//
// It returns the text as it is, with nil lists, if it has none of these or if nothing would be left to ask.
func Typed(text string) (question string, must, mustNot []string) {
	var out strings.Builder
	begins := true // of a chunk between white space
	for rest := text; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if begins {
			if phrase, after, ok := quotedAt(rest); ok {
				must = append(must, phrase)
				out.WriteString(phrase)
				rest, begins = after, false
				continue
			}
			excluded := ""
			switch {
			case r == '-':
				excluded = rest[1:]
			case hasOperatorNot(out.String(), rest):
				excluded = strings.TrimLeftFunc(rest[len("NOT"):], unicode.IsSpace)
			}
			if phrase, after, ok := quotedAt(excluded); ok {
				mustNot = append(mustNot, phrase)
				rest, begins = after, false
				continue
			}
			if next, _ := utf8.DecodeRuneInString(excluded); unicode.IsLetter(next) {
				end := strings.IndexFunc(excluded, unicode.IsSpace)
				if end < 0 {
					end = len(excluded)
				}
				mustNot = append(mustNot, strings.TrimRight(excluded[:end], ".,;:!?"))
				rest = excluded[end:]
				begins = false
				continue
			}
		}
		out.WriteString(rest[:size])
		begins = unicode.IsSpace(r)
		rest = rest[size:]
	}
	question = strings.Join(strings.Fields(out.String()), " ")
	switch {
	case len(must)+len(mustNot) == 0:
		return text, nil, nil
	case !strings.ContainsFunc(question, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }):
		return text, nil, nil
	}
	return question, must, mustNot
}

// hasOperatorNot reports whether rest begins with the word NOT as an operator of a search: white space follows it,
// there are words before it and none is an English function word, and the rest of the text is not all in capital
// letters. before is the part of the question in front of rest.
func hasOperatorNot(before, rest string) bool {
	after, ok := strings.CutPrefix(rest, "NOT")
	next, _ := utf8.DecodeRuneInString(after)
	if !ok || !unicode.IsSpace(next) || !strings.ContainsFunc(before+after, unicode.IsLower) {
		return false
	}
	english := languages.FunctionWordsOf("en")
	words := strings.Fields(before)
	return len(words) > 0 && !slices.ContainsFunc(words, english.Has)
}

// quotedAt returns the phrase in the double quotes that a text begins with, and the text after them. ok is false if it
// begins with no quotes, if they have no end, if a letter or digit follows them, or if the phrase has neither letter
// nor digit.
func quotedAt(text string) (phrase, after string, ok bool) {
	open, size := utf8.DecodeRuneInString(text)
	if open != '"' && open != '“' && open != '„' {
		return "", "", false
	}
	end := strings.IndexAny(text[size:], "\"”“")
	if end < 0 {
		return "", "", false
	}
	phrase = strings.TrimSpace(text[size : size+end])
	_, closing := utf8.DecodeRuneInString(text[size+end:])
	after = text[size+end+closing:]
	next, _ := utf8.DecodeRuneInString(after)
	if after != "" && (unicode.IsLetter(next) || unicode.IsDigit(next)) ||
		!strings.ContainsFunc(phrase, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return "", "", false
	}
	return phrase, after, true
}
