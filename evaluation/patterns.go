package evaluation

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// RegexAnswers matches answers as regular expressions (TREC's patterns),
// case-insensitive, multi-line, on NFD text, as DPR does with Python's regex
// module. Where that and Go's differ the former is followed: \s, \d, \w and \b
// know all of Unicode, and an escaped character beyond ASCII is that character.
//
// A pattern that does not compile never matches, as in DPR; it is returned in
// bad, so that the caller can say so. Look-around, back references and \B do
// not compile here, although they would there.
func RegexAnswers(patterns []string) (m Matcher, bad []string) {
	var out regexMatcher
	for _, pattern := range patterns {
		expression, bounded, err := compilePattern(pattern)
		switch {
		case err != nil:
			bad = append(bad, pattern)
		case bounded:
			out.bounded = append(out.bounded, expression)
		default:
			out.plain = append(out.plain, expression)
		}
	}
	return out, bad
}

// regexMatcher holds expressions on the text, and expressions on the text with
// its word boundaries marked.
type regexMatcher struct{ plain, bounded []*regexp.Regexp }

func (m regexMatcher) In(text string) bool {
	text = norm.NFD.String(text)
	for _, expression := range m.plain {
		if expression.MatchString(text) {
			return true
		}
	}
	if len(m.bounded) == 0 {
		return false
	}
	text = markBoundaries(text)
	for _, expression := range m.bounded {
		if expression.MatchString(text) {
			return true
		}
	}
	return false
}

// compilePattern compiles a pattern; bounded says that it is for text with
// marked boundaries.
func compilePattern(pattern string) (expression *regexp.Regexp, bounded bool, err error) {
	tree, err := syntax.Parse("(?im)"+widen(norm.NFD.String(pattern)), syntax.Perl)
	if err != nil {
		return nil, false, err
	}
	if uses(tree, syntax.OpNoWordBoundary) {
		return nil, false, fmt.Errorf(`%s: \B is not known`, pattern)
	}
	if bounded = uses(tree, syntax.OpWordBoundary); bounded {
		tree = acrossMarks(tree)
	}
	expression, err = regexp.Compile(tree.String())
	return expression, bounded, err
}

// The classes of Python's regex module, for the inside of brackets.
const (
	spaceClass = `\t-\r\x{85}\pZ`
	digitClass = `\p{Nd}`
	wordClass  = `\pL\pM\p{Nd}\p{Nl}\p{Pc}\x{200c}\x{200d}`
)

// widen rewrites the escapes whose meaning differs between Python and Go.
func widen(pattern string) string {
	classes := map[rune]string{'s': spaceClass, 'd': digitClass, 'w': wordClass}
	var out strings.Builder
	inBrackets := false
	runes := []rune(pattern)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		if r != '\\' || i+1 == len(runes) {
			switch r {
			case '[':
				inBrackets = true
			case ']':
				inBrackets = false
			}
			out.WriteRune(r)
			continue
		}
		i++
		class, known := classes[runes[i]]
		inverse, inverted := classes[unicode.ToLower(runes[i])]
		switch {
		case known && inBrackets:
			out.WriteString(class)
		case known:
			out.WriteString("[" + class + "]")
		case inverted && !inBrackets:
			out.WriteString("[^" + inverse + "]")
		case runes[i] > unicode.MaxASCII:
			out.WriteString(regexp.QuoteMeta(string(runes[i])))
		default:
			out.WriteRune('\\')
			out.WriteRune(runes[i])
		}
	}
	return out.String()
}

// Go's \b knows ASCII only, and it has nothing else to say where a word ends.
// So the text is given marks at its boundaries, \b becomes a mark, and marks
// are skipped before everything else that a pattern looks for. There are
// several marks at each boundary, since a pattern may ask twice.
const (
	boundaryMark  = unicode.MaxRune // belongs to no text
	boundaryMarks = 8
)

func markBoundaries(text string) string {
	var out strings.Builder
	marks := strings.Repeat(string(boundaryMark), boundaryMarks)
	before := false
	for _, r := range text {
		if r == boundaryMark {
			continue
		}
		if inWord := isWord(r); inWord != before {
			out.WriteString(marks)
			before = inWord
		}
		out.WriteRune(r)
	}
	if before {
		out.WriteString(marks)
	}
	return out.String()
}

// isWord is \w of Python's regex module.
func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z'
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic) || r == 0x200c || r == 0x200d
}

func uses(tree *syntax.Regexp, op syntax.Op) bool {
	if tree.Op == op {
		return true
	}
	for _, part := range tree.Sub {
		if uses(part, op) {
			return true
		}
	}
	return false
}

// acrossMarks rewrites an expression for text with marked boundaries.
func acrossMarks(tree *syntax.Regexp) *syntax.Regexp {
	mark := &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{boundaryMark}}
	skipping := func(then *syntax.Regexp) *syntax.Regexp {
		marks := &syntax.Regexp{Op: syntax.OpStar, Sub: []*syntax.Regexp{mark}}
		return &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{marks, then}}
	}
	class := func(ranges ...rune) *syntax.Regexp {
		return skipping(&syntax.Regexp{Op: syntax.OpCharClass, Rune: ranges})
	}
	switch tree.Op {
	case syntax.OpWordBoundary:
		return mark
	case syntax.OpLiteral:
		out := &syntax.Regexp{Op: syntax.OpConcat}
		for _, r := range tree.Rune {
			out.Sub = append(out.Sub, skipping(&syntax.Regexp{Op: syntax.OpLiteral, Flags: tree.Flags, Rune: []rune{r}}))
		}
		return out
	case syntax.OpAnyCharNotNL:
		return class(0, '\n'-1, '\n'+1, boundaryMark-1)
	case syntax.OpAnyChar:
		return class(0, boundaryMark-1)
	case syntax.OpCharClass:
		var ranges []rune
		for i := 0; i+1 < len(tree.Rune); i += 2 {
			if low, high := tree.Rune[i], min(tree.Rune[i+1], boundaryMark-1); low <= high {
				ranges = append(ranges, low, high)
			}
		}
		return class(ranges...)
	case syntax.OpEndLine, syntax.OpEndText:
		return skipping(tree)
	}
	out := *tree
	out.Sub = make([]*syntax.Regexp, len(tree.Sub))
	for i, part := range tree.Sub {
		out.Sub[i] = acrossMarks(part)
	}
	return &out
}
