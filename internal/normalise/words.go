package normalise

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words returns a text normalised for comparing its words with others, as by Text, except that powers and fractions
// keep their meaning. A superscript number, or n, after a letter, digit or bracket follows a ^, as in 10^3 for 10³. A
// fraction is written with a slash, as in 1/2 for ½, and after a digit with a space before it.
func Words(text string) string {
	if isASCII(text) {
		return text
	}
	if strings.ContainsFunc(text, func(r rune) bool { return superscripts[r] != 0 || isFraction(r) }) {
		text = spelledOut(text)
	}
	return Text(text)
}

// superscripts are the characters that powers are written with, and what they stand for.
var superscripts = map[rune]rune{
	'⁰': '0', '¹': '1', '²': '2', '³': '3', '⁴': '4', '⁵': '5', '⁶': '6', '⁷': '7', '⁸': '8', '⁹': '9',
	'⁺': '+', '⁻': '-', 'ⁿ': 'n', 'ⁱ': 'i',
}

const fractionSlash = '\u2044'

// isFraction reports whether a character is a fraction, or its slash.
func isFraction(r rune) bool {
	return 0xbc <= r && r <= 0xbe || 0x2150 <= r && r <= 0x215f || r == 0x2189 || r == fractionSlash
}

// spelledOut returns a text with its powers and fractions in ASCII (Words) and all other characters unchanged.
func spelledOut(text string) string {
	var out strings.Builder
	before := ' '   // the character before, in the text
	raised := false // it is part of a power
	for i, r := range text {
		plain := superscripts[r]
		switch {
		case plain != 0 && raised:
			out.WriteRune(plain)
		case plain != 0 && mayBeRaised(before):
			raised = true
			out.WriteByte('^')
			out.WriteRune(plain)
		case r == fractionSlash:
			out.WriteByte('/')
		case isFraction(r):
			if unicode.IsDigit(before) {
				out.WriteByte(' ')
			}
			out.WriteString(strings.ReplaceAll(Text(string(r)), string(fractionSlash), "/"))
		default:
			_, size := utf8.DecodeRuneInString(text[i:])
			out.WriteString(text[i : i+size]) // also of a byte that is not UTF-8
		}
		raised = raised && plain != 0
		before = r
	}
	return out.String()
}

// mayBeRaised reports whether a power may stand after a character: a letter, digit, mark or closing bracket.
func mayBeRaised(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == ')' || r == ']'
}
