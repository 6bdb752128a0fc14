package ask

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Typed reads a text as typed into a search box, and returns the question to ask and the words and phrases that
// passages must and must not have.
//
//  1. Words in double quotes become a phrase of must, and stay in the question without the quotes.
//  2. A word or a quoted phrase with - before it becomes one of mustNot, and is removed from the question. The -
//     counts only before a letter or quotes, so that -40 is a number.
//  3. Quotes without an end stay as they are.
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
			if r == '-' {
				if phrase, after, ok := quotedAt(rest[1:]); ok {
					mustNot = append(mustNot, phrase)
					rest, begins = after, false
					continue
				}
				if next, _ := utf8.DecodeRuneInString(rest[1:]); unicode.IsLetter(next) {
					end := strings.IndexFunc(rest, unicode.IsSpace)
					if end < 0 {
						end = len(rest)
					}
					mustNot = append(mustNot, strings.TrimRight(rest[1:end], ".,;:!?"))
					rest = rest[end:]
					begins = false
					continue
				}
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
