package evaluation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/search/extract"

	"golang.org/x/text/unicode/norm"
)

// Matcher reports whether a passage's text has one of a question's answers, by DPR's rules (its has_answer): the text
// only, never the title.
type Matcher interface{ In(text string) bool }

// stringAnswers returns a Matcher of texts that have one of the answers as consecutive tokens. Text and answer are
// brought to NFD, cut into runs of letters, digits and marks and into single other characters, and lower-cased. It
// fails for an answer without a token, which would match everything.
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

// stringMatcher has the tokens of each answer.
type stringMatcher [][]string

// In reports whether the tokens of one of the answers stand in a text, one after another.
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

// equalRun reports whether b begins with the tokens of a. b must be at least as long.
func equalRun(a, b []string) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// answerTokens splits a text as DPR's SimpleTokenizer does: ([\p{L}\p{N}\p{M}]+)|([^\p{Z}\p{C}]). Tokens are in lower
// case and decomposed (NFD); text has no tokens if it is only white space and invisible characters.
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

// wordRune reports whether a character belongs to a word: a letter in lower case, a digit or a mark. Only characters
// beyond ASCII are looked up in Unicode's tables.
func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9'
	}
	return unicode.In(r, unicode.L, unicode.N, unicode.M)
}

// blankRune reports whether a character separates tokens: white space, a control or another invisible character.
func blankRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r <= ' ' || r == 0x7f
	}
	return unicode.In(r, unicode.Z, unicode.C)
}

// regexAnswers returns a Matcher of texts that match one of the regular expressions (TREC's patterns), case-insensitive
// and multi-line, on NFD text, as DPR does with Python's regex module. The expressions are Go's: \\s, \\d, \\w and \\b
// know ASCII only. A pattern that does not compile never matches, as in DPR, and is returned in bad. Look-around and
// back references do not compile here, although they would there.
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

// regexMatcher has the compiled expressions.
type regexMatcher []*regexp.Regexp

// In reports whether one of the expressions matches a text in Unicode's decomposed form (NFD).
func (m regexMatcher) In(text string) bool {
	text = norm.NFD.String(text)
	for _, expression := range m {
		if expression.MatchString(text) {
			return true
		}
	}
	return false
}

// ExactMatch returns 1 if the text given equals one of answers after normalising (extract.NormaliseAnswer), else 0, as
// SQuAD's script defines it (Rajpurkar et al. 2016, section 6.1).
func ExactMatch(given string, answers []string) float64 {
	for _, a := range answers {
		if extract.NormaliseAnswer(given) == extract.NormaliseAnswer(a) {
			return 1
		}
	}
	return 0
}

// mostOther is the largest number of further words in an acceptable answer.
const mostOther = 8

// Acceptable reports whether a person would take the text given for one of answers, although it is worded differently:
// it has all words of one in their order and at most mostOther others, or its TokenF1 is at least a half and it has the
// same numbers. Words are compared after normalising, as ExactMatch does. It is false without answers.
func Acceptable(given string, answers []string) bool {
	words := strings.Fields(extract.NormaliseAnswer(given))
	for _, a := range answers {
		wanted := strings.Fields(extract.NormaliseAnswer(a))
		if len(wanted) == 0 {
			continue
		}
		if len(words)-len(wanted) <= mostOther && containsRun(words, wanted) {
			return true
		}
		if slices.Equal(numbersOf(words), numbersOf(wanted)) && TokenF1(given, []string{a}) >= .5 {
			return true
		}
	}
	return false
}

// containsRun reports whether words has all of wanted as consecutive words.
func containsRun(words, wanted []string) bool {
	for i := range len(words) - len(wanted) + 1 {
		if slices.Equal(words[i:i+len(wanted)], wanted) {
			return true
		}
	}
	return false
}

// numbersOf returns the words with a digit, sorted.
func numbersOf(words []string) (numbers []string) {
	for _, w := range words {
		if strings.ContainsFunc(w, unicode.IsDigit) {
			numbers = append(numbers, w)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// TokenF1 returns the largest F1 of the words of the text given with those of one of answers, from 0 to 1, as SQuAD's
// script defines it; 0 without answers. A text and an answer that have no words are equal (1).
func TokenF1(given string, answers []string) (best float64) {
	words := strings.Fields(extract.NormaliseAnswer(given))
	for _, a := range answers {
		left := map[string]int{}
		wanted := strings.Fields(extract.NormaliseAnswer(a))
		for _, w := range wanted {
			left[w]++
		}
		same := 0
		for _, w := range words {
			if left[w] > 0 {
				left[w]--
				same++
			}
		}
		switch {
		case len(words) == 0 && len(wanted) == 0:
			best = 1
		case same > 0:
			best = max(best, 2*float64(same)/float64(len(words)+len(wanted)))
		}
	}
	return best
}
