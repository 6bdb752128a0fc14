package evaluation

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Matcher decides whether a passage's text holds one of a question's answers,
// by DPR's rules (its has_answer): the text only, never the title.
type Matcher interface{ In(text string) bool }

// stringAnswers matches answers as sequences of tokens: text and answer are
// brought to NFD, cut into runs of letters, digits and marks and into single
// other characters, lower-cased, and the answer has to be a contiguous run of
// the text's tokens. An answer without any token is an error, since it would
// match everything.
func stringAnswers(answers []string) (Matcher, error) {
	m := stringMatcher{}
	for _, answer := range answers {
		tokens := answerTokens(answer)
		if len(tokens) == 0 {
			return nil, fmt.Errorf("the answer %q has no token to look for", answer)
		}
		m = append(m, tokens)
	}
	return m, nil
}

type stringMatcher [][]string

func (m stringMatcher) In(text string) bool {
	tokens := answerTokens(text)
	for _, answer := range m {
		for start := 0; start+len(answer) <= len(tokens); start++ {
			if equalRun(tokens[start:start+len(answer)], answer) {
				return true
			}
		}
	}
	return false
}

func equalRun(a, b []string) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// answerTokens splits a text as DPR's SimpleTokenizer does: ([\p{L}\p{N}\p{M}]+)|([^\p{Z}\p{C}]).
func answerTokens(text string) []string {
	text = strings.ToLower(norm.NFD.String(text))
	var out []string
	begin := -1 // of the run that is open
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case wordRune(r):
			if begin < 0 {
				begin = at
			}
		default:
			if begin >= 0 {
				out = append(out, text[begin:at])
				begin = -1
			}
			if !blankRune(r) {
				out = append(out, text[at:at+size])
			}
		}
		at += size
	}
	if begin >= 0 {
		out = append(out, text[begin:])
	}
	return out
}

// wordRune and blankRune spare ASCII the search in Unicode's tables.
func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9'
	}
	return unicode.In(r, unicode.L, unicode.N, unicode.M)
}

func blankRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r <= ' ' || r == 0x7f
	}
	return unicode.In(r, unicode.Z, unicode.C)
}
