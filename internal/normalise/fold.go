package normalise

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Fold returns the words of a text in lower case, without accents and punctuation, with one space between them; "" for
// a text without letters and digits. A character of a script without spaces between words (Chinese, Japanese, Thai) is
// a word. Texts are equal when folded if they differ in case, accents, punctuation and spaces only.
func Fold(text string) string {
	var out strings.Builder
	between := false
	for _, r := range norm.NFD.String(strings.ToLower(Text(text))) {
		alone := unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
		switch {
		case unicode.Is(unicode.Mn, r) && !unicode.In(r, unicode.Thai):
		case unicode.IsLetter(r), unicode.IsDigit(r), alone:
			if out.Len() > 0 && (between || alone) {
				out.WriteByte(' ')
			}
			out.WriteRune(r)
			between = alone
		case r == '\'', r == '’':
		default:
			between = true
		}
	}
	return norm.NFC.String(out.String())
}
