package documents

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// writeFraction returns a fraction on one line: "1/2", "(a + b)/c".
func writeFraction(above, below string) string {
	return inParentheses(above) + "/" + inParentheses(below)
}

// writePower returns a base with its exponent on one line: "10^3", "x^(n + 1)"; "x′" without a ^ for a prime, degree
// sign or star; only the base if the exponent is empty.
func writePower(base, exponent string) string {
	exponent = strings.TrimSpace(exponent)
	if exponent == "" {
		return base
	}
	if exponent == "′" || exponent == "'" || exponent == "°" || exponent == "∘" || exponent == "*" {
		return base + exponent
	}
	return base + "^" + inParentheses(exponent)
}

// writeIndex returns a base with its subscript on one line: "x_1", "x_(n + 1)"; only the base if the subscript is
// empty.
func writeIndex(base, index string) string {
	index = strings.TrimSpace(index)
	if index == "" {
		return base
	}
	return base + "_" + inParentheses(index)
}

// inParentheses returns a part of a formula, without blanks at its ends, in parentheses. A single number or name,
// with or without a sign before it, stays as it is, and so does what is in parentheses already.
func inParentheses(part string) string {
	part = strings.TrimSpace(part)
	for i, r := range part {
		if i == 0 && (r == '-' || r == '−' || r == '+') {
			continue
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '.' && r != ',' && r != '_' {
			if strings.HasPrefix(part, "(") && strings.IndexByte(part, ')') == len(part)-1 {
				return part
			}
			return "(" + part + ")"
		}
	}
	return part
}

// writeRaised returns how a superscript is written after the text before it:
//
//  1. After a number, a bracket or up to three letters, which are a variable or a unit, it is an exponent: "10^3",
//     "x^n", "cm^3".
//  2. Digits after a longer word or after punctuation may be the mark of a footnote: they stand between noteBegin and
//     noteEnd until the whole document is known (settleNotes).
//  3. At the beginning of a word, where it is the upper part of a fraction or the number of a footnote, and as the
//     ending of a number ("20th"), it stays as it is, and so do signs such as ® and [1]. Digits at the beginning of a
//     word are between noteBegin and noteEnd, too, until settleNotes removes these.
func writeRaised(before, raised string) string {
	raised = strings.TrimSpace(raised)
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(raised, "-−+(*"))
	if raised == "" || !unicode.IsDigit(first) && !unicode.IsLetter(first) {
		return raised
	}
	if marksNote(before, raised) || (before == "" || spaceAtEnd(before)) && runOf(raised, isDigit) == len(raised) {
		return string(noteBegin) + raised + string(noteEnd)
	}
	if !unicode.IsLetter(last) && !unicode.IsDigit(last) && last != ')' && last != ']' {
		return raised
	}
	letters := 0
	for _, r := range raised {
		if !unicode.IsLetter(r) && r != '.' {
			letters = -1
			break
		}
		letters++
	}
	if letters >= 2 || letters == 1 && unicode.IsDigit(last) && !strings.ContainsAny(raised, "nmkxyt") {
		return raised
	}
	return "^" + inParentheses(raised)
}

// longestUnit is how many letters a variable or unit has at most whose exponent is no mark of a footnote.
const longestUnit = 3

// marksNote reports whether a superscript is the mark of one or more footnotes ("2", "3,4"): it has no letters, and
// stands after a word of more than longestUnit letters or after punctuation.
func marksNote(before, raised string) bool {
	if first, _ := utf8.DecodeRuneInString(raised); !unicode.IsDigit(first) {
		return false // -3
	}
	if strings.ContainsFunc(raised, func(r rune) bool { return !unicode.IsDigit(r) && !strings.ContainsRune(", –-", r) }) {
		return false
	}
	word := strings.TrimRight(before, ".,;:!?\"”’»")
	if word == "" {
		return false
	}
	if last, _ := utf8.DecodeLastRuneInString(word); len(word) < len(before) {
		return unicode.IsLetter(last) || unicode.IsDigit(last) || last == ')'
	}
	word = strings.TrimSuffix(word, ")")
	letters := 0
	for word != "" && letters <= longestUnit {
		r, n := utf8.DecodeLastRuneInString(word)
		if !unicode.IsLetter(r) {
			break
		}
		letters++
		word = word[:len(word)-n]
	}
	return letters > longestUnit
}

// writeLowered returns how a subscript is written after the text before it: as it is, but a number after a digit as
// "_1".
func writeLowered(before, lowered string) string {
	lowered = strings.TrimSpace(lowered)
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(lowered)
	if unicode.IsDigit(last) && unicode.IsDigit(first) {
		return "_" + lowered
	}
	return lowered
}
