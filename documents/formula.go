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

// writePower returns a base with an exponent on one line: "10^3", "x^(n + 1)". An empty exponent leaves the base.
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

// writeIndex returns a base with an index below it on one line: "x_1"; letters with a number are written
// together, as in "H2O".
func writeIndex(base, index string) string {
	index = strings.TrimSpace(index)
	if index == "" {
		return base
	}
	return base + "_" + inParentheses(index)
}

// inParentheses returns a part of a formula in parentheses, unless it is one number, one name or in parentheses
// already. A sign before it counts as a part of it.
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

// writeRaised returns what follows a text for letters that are raised above its line. Behind a number, a letter
// or a bracket a raised number or name is an exponent ("^3"). At the beginning of a word it is the upper part of
// a fraction or a mark, and raised letters behind a number are an ending ("20th"): these stand as they are.
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

// writeLowered returns what follows a text for letters that are lowered below its line. Behind a digit an
// underscore parts them.
func writeLowered(before, lowered string) string {
	lowered = strings.TrimSpace(lowered)
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(lowered)
	if unicode.IsDigit(last) && unicode.IsDigit(first) {
		return "_" + lowered
	}
	return lowered
}
