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

// writePower returns a base with its exponent on one line: "10^3", "x^(n + 1)"; only the base if the exponent is empty.
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

// inParentheses returns a part of a formula in parentheses. A single number or name, with or without a sign before it,
// stays as it is, and so does what is in parentheses already.
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

// writeRaised returns how a superscript is written after the text before it. After a number, letter or bracket, a
// number or name is an exponent, "^3". At the beginning of a word, where it is the upper part of a fraction or a mark,
// and as the ending of a number ("20th"), it stays as it is.
func writeRaised(before, raised string) string {
	raised = strings.TrimSpace(raised)
	last, _ := utf8.DecodeLastRuneInString(before)
	if raised == "" || !unicode.IsLetter(last) && !unicode.IsDigit(last) && last != ')' && last != ']' {
		return raised
	}
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(raised, "-−+(*"))
	letters := 0
	for _, r := range raised {
		if !unicode.IsLetter(r) && r != '.' {
			letters = -1
			break
		}
		letters++
	}
	switch {
	case !unicode.IsDigit(first) && !unicode.IsLetter(first): // ®, *, [1]
		return raised
	case letters >= 2, letters == 1 && unicode.IsDigit(last) && !strings.ContainsAny(raised, "nmkxyt"):
		return raised
	}
	return "^" + inParentheses(raised)
}

// writeLowered returns how a subscript is written after the text before it: as it is, but "_1" after a digit.
func writeLowered(before, lowered string) string {
	lowered = strings.TrimSpace(lowered)
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(lowered)
	if unicode.IsDigit(last) && unicode.IsDigit(first) {
		return "_" + lowered
	}
	return lowered
}
