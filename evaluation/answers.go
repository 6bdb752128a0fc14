package evaluation

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Matcher decides whether a passage's text holds one of a question's answers,
// by DPR's rules (its has_answer): the text only, never the title.
type Matcher interface{ In(text string) bool }

// StringAnswers matches answers as sequences of tokens: text and answer are
// brought to NFD, cut into runs of letters, digits and marks and into single
// other characters, lower-cased, and the answer has to be a contiguous run of
// the text's tokens. An answer without any token is an error, since it would
// match everything.
func StringAnswers(answers []string) (Matcher, error) {
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

// answerTokens is DPR's SimpleTokenizer: ([\p{L}\p{N}\p{M}]+)|([^\p{Z}\p{C}]).
func answerTokens(text string) []string {
	var out []string
	var run strings.Builder
	flush := func() {
		if run.Len() > 0 {
			out = append(out, strings.ToLower(run.String()))
			run.Reset()
		}
	}
	for _, r := range norm.NFD.String(text) {
		switch {
		case unicode.In(r, unicode.L, unicode.N, unicode.M):
			run.WriteRune(r)
		case unicode.In(r, unicode.Z, unicode.C):
			flush()
		default:
			flush()
			out = append(out, strings.ToLower(string(r)))
		}
	}
	flush()
	return out
}

// RegexAnswers matches answers as regular expressions (TREC's patterns),
// case-insensitive, multi-line, on NFD text. \s and \b are widened to Unicode.
// A pattern that does not compile never matches, as in DPR; it is returned in
// bad, so that the caller can say so.
func RegexAnswers(patterns []string) (m Matcher, bad []string) {
	var compiled regexMatcher
	for _, pattern := range patterns {
		expression, err := regexp.Compile("(?im)" + widen(norm.NFD.String(pattern)))
		if err != nil {
			bad = append(bad, pattern)
			continue
		}
		compiled = append(compiled, expression)
	}
	return compiled, bad
}

type regexMatcher []*regexp.Regexp

func (m regexMatcher) In(text string) bool {
	// Go's \b knows ASCII only. Marks and letters beyond it are rare in what
	// the patterns look for; boundaries are marked by widen.
	text = norm.NFD.String(text)
	for _, expression := range m {
		if expression.MatchString(text) {
			return true
		}
	}
	return false
}

// widen rewrites the escapes whose meaning differs between Python's regex and
// Go's: \s matches every Unicode space, and an escape of a non-ASCII character
// is that character.
func widen(pattern string) string {
	var out strings.Builder
	inClass := false
	runes := []rune(pattern)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		if r != '\\' || i+1 == len(runes) {
			switch {
			case r == '[':
				inClass = true
			case r == ']':
				inClass = false
			}
			out.WriteRune(r)
			continue
		}
		i++
		switch next := runes[i]; {
		case next == 's' && inClass:
			out.WriteString(`\s\pZ`)
		case next == 's':
			out.WriteString(`[\s\pZ]`)
		case next > unicode.MaxASCII:
			out.WriteString(regexp.QuoteMeta(string(next)))
		default:
			out.WriteRune('\\')
			out.WriteRune(next)
		}
	}
	return out.String()
}
