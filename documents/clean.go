package documents

import (
	"strings"
	"unicode"
)

// ligatures are the letters that fonts draw as one; documents that were set with them
// have them in their text.
// Symbol fonts draw a bullet at U+F0B7.
var ligatures = strings.NewReplacer(
	"\uf0b7", "•", "ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st",
)

// clean returns a text as a reader sees it: each run of white space as one space, none at both ends, ligatures as
// letters, and without invisible characters. Bytes that are not UTF-8 become U+FFFD.
func clean(text string) string {
	text = ligatures.Replace(strings.ToValidUTF8(text, "\uFFFD"))
	var b strings.Builder
	b.Grow(len(text))
	space := false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
		case invisible(r):
		default:
			if space {
				b.WriteByte(' ')
				space = false
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// invisible reports whether a character has no shape: soft hyphens, marks of direction and width, and control
// characters. Line feed, tab and the joiners U+200C and U+200D, which some scripts need, are not counted.
func invisible(r rune) bool {
	return r == '\u00AD' || r == '\uFEFF' || unicode.Is(unicode.Cc, r) && r != '\n' && r != '\t' ||
		unicode.Is(unicode.Cf, r) && r != '\u200C' && r != '\u200D' || r == '\uFFFE'
}

// stripControl returns code without control characters, except tabs and line ends. \r\n and \r become \n.
func stripControl(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		if r == '\r' {
			return '\n'
		}
		if unicode.Is(unicode.Cc, r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}
