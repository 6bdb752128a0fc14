package forms

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// unaccented returns a lower-case word without accents, as people type it on a keyboard without them:
//
//   - Letters of the Latin, Greek and Cyrillic alphabets lose their marks, and Hebrew and Arabic words their points.
//   - Letters with strokes, and ligatures, become plain letters, as in Lucene's ASCIIFoldingFilter.
//   - Apostrophes become '.
//   - Marks of other scripts stay, such as the vowels of Devanagari: they are parts of their letters.
func unaccented(word string) string {
	var out strings.Builder
	marked := false // the letter before is of an alphabet with accents
	for _, r := range norm.NFD.String(word) {
		switch {
		case r < utf8.RuneSelf:
			marked = true
			out.WriteRune(r)
		case unicode.Is(unicode.Mn, r):
			if marked && unicode.Is(unicode.Inherited, r) || unicode.In(r, unicode.Hebrew, unicode.Arabic) ||
				unicode.Is(unicode.Inherited, r) && 0x64b <= r && r <= 0x670 {
				continue
			}
			out.WriteRune(r)
		default:
			marked = unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
			if plain, ok := plainLetters[r]; ok {
				out.WriteString(plain)
			} else {
				out.WriteRune(r)
			}
		}
	}
	return norm.NFC.String(out.String())
}

// plainLetters are the lower-case letters of the Latin alphabet that Unicode does not
// decompose, and what they are without their strokes, hooks and ligatures.
var plainLetters = func() map[rune]string {
	out := map[rune]string{
		'ß': "ss", 'æ': "ae", 'œ': "oe", 'þ': "th", 'ð': "d", 'ı': "i", 'ȷ': "j", 'ĸ': "q", 'ŋ': "n",
		'ƕ': "hv", 'ȣ': "ou", 'ȸ': "db", 'ȹ': "qp", 'ꜳ': "aa", 'ꜵ': "ao", 'ꜷ': "au", 'ꜹ': "av", 'ꜽ': "ay", 'ꝏ': "oo", 'ꝡ': "vy",
		'\u2018': "'", '\u2019': "'", '\u02bc': "'", '\u02bb': "'",
	}
	for plain, letters := range map[string]string{
		"a": "ⱥ", "b": "ƀƃɓ", "c": "ƈȼ", "d": "đƌɖɗȡ", "e": "ɇǝəɛ", "f": "ƒ", "g": "ǥɠɡ", "h": "ħɦⱨ", "i": "ɨɩ", "j": "ɉʝ",
		"k": "ƙⱪ", "l": "łƚɫɬɭȴⱡ", "m": "ɱ", "n": "ɲƞɳȵ", "o": "øɵɔ", "p": "ƥᵽ", "q": "ɋʠ", "r": "ɍɽɼɾ", "s": "ʂȿ", "t": "ŧƭʈȶⱦ",
		"u": "ʉ", "v": "ʋⱱ", "w": "ⱳ", "y": "ƴɏ", "z": "ƶȥʐʑɀⱬ",
	} {
		for _, r := range letters {
			out[r] = plain
		}
	}
	return out
}()
