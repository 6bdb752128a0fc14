// Package normalise gives texts the form in which their words are compared and encoded:
// Unicode's NFKC, without characters that nobody sees.
package normalise

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Version names what Text does, in fingerprints of what is made from its output: raise it
// with any change of the output.
const Version = 1

// Text returns a text in Unicode's Normalization Form KC (Unicode Standard Annex #15),
// without characters that have no appearance, such as the soft hyphen, zero-width spaces
// and joiners, variation selectors and marks of direction (Default_Ignorable_Code_Point,
// Unicode Standard 5.21). So what looks alike is equal: composed and decomposed accents,
// ligatures, full-width letters, CO₂ and CO2. A zero-width space between letters of a
// script that is written without spaces, such as Thai, separates words, and becomes a
// space.
//
// ASCII is returned as it is, and so is a byte that is not UTF-8.
func Text(text string) string {
	if isASCII(text) {
		return text
	}
	return norm.NFKC.String(dropInvisible(text))
}

// isASCII reports whether all bytes are below 128; true for "".
func isASCII(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

const zeroWidthSpace = '\u200b'

// dropInvisible returns a text without the characters that have no appearance (isInvisible). A zero-width space
// after a letter of one of the scripts in unspaced becomes a space.
func dropInvisible(text string) string {
	var out strings.Builder
	kept := 0 // text up to here is in out
	last := rune(-1)
	for i, r := range text {
		if r < firstInvisible || !isInvisible(r) {
			last = r
			continue
		}
		if out.Len() == 0 {
			out.Grow(len(text))
		}
		out.WriteString(text[kept:i])
		kept = i + utf8.RuneLen(r)
		if r == zeroWidthSpace && unicode.In(last, unspaced...) {
			out.WriteByte(' ')
			last = ' '
		}
	}
	if kept == 0 {
		return text
	}
	out.WriteString(text[kept:])
	return out.String()
}

// unspaced are scripts whose words stand without spaces between them, where a zero-width
// space says that a word ends.
var unspaced = []*unicode.RangeTable{
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tai_Le, unicode.New_Tai_Lue,
	unicode.Tai_Tham, unicode.Tai_Viet, unicode.Ahom, unicode.Javanese, unicode.Balinese,
}

// firstInvisible is the soft hyphen, the first character that isInvisible knows.
const firstInvisible = '\u00ad'

// isInvisible reports whether a character has the property Default_Ignorable_Code_Point, derived as in Unicode's
// DerivedCoreProperties.txt.
func isInvisible(r rune) bool {
	switch {
	case unicode.Is(unicode.Cf, r):
		return !unicode.Is(unicode.Prepended_Concatenation_Mark, r) &&
			!(0xfff9 <= r && r <= 0xfffb) && !(0x13430 <= r && r <= 0x13440)
	case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Lo, r) || r >= 0x2065:
		return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
	}
	return false
}
