package evaluation

import (
	"regexp"

	"golang.org/x/text/unicode/norm"
)

// regexAnswers matches answers as regular expressions (TREC's patterns),
// case-insensitive, multi-line, on NFD text, as DPR does with Python's regex
// module. The expressions are Go's: \s, \d, \w and \b know ASCII alone.
//
// A pattern that does not compile never matches, as in DPR; it is returned in
// bad, so that the caller can say so. Look-around and back references do not
// compile here, although they would there.
func regexAnswers(patterns []string) (m Matcher, bad []string) {
	var out regexMatcher
	for _, pattern := range patterns {
		expression, err := regexp.Compile("(?im)" + norm.NFD.String(pattern))
		if err != nil {
			bad = append(bad, pattern)
			continue
		}
		out = append(out, expression)
	}
	return out, bad
}

type regexMatcher []*regexp.Regexp

func (m regexMatcher) In(text string) bool {
	text = norm.NFD.String(text)
	for _, expression := range m {
		if expression.MatchString(text) {
			return true
		}
	}
	return false
}
