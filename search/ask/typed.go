package ask

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Typed reads what somebody typed into a box: words in double quotes have to stand so in each
// passage, and a word or quotes with - before them must not. What is to be there stays part of
// the question, without its quotes, and what is not is taken out. A - counts before a letter or
// quotes alone, so that -40 is a number; what has no end, or would leave nothing to ask, stays
// as it is.
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

// quotedAt returns what stands in the quotes that a text begins with, and what follows them.
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
