package wordpiece

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normaliser is BERT's text clean-up. The order is the reference's: controls
// go, every Unicode space becomes a space, ideographs get spaces around them,
// accents are stripped (canonical decomposition, then non-spacing marks go),
// and only then is the text lower-cased, each character for itself: a capital
// sigma at the end of a word becomes σ, not ς.
//
// It is used instead of the library's own normaliser, which panics where
// lower-casing changes a character's length (İ, ẞ) and loses accents and
// non-ASCII spaces.
type normaliser struct {
	classes      *classes
	lowerCase    bool
	stripAccents bool
	ideographs   bool                // put spaces around them
	form         func(string) string // before all else; nil: nothing
}

// normalise returns text in the form in which words are looked up in the vocabulary (see normaliser). Any bytes are
// allowed; broken UTF-8 is dropped.
func (n *normaliser) normalise(text string) string {
	if n.form != nil {
		text = n.form(text)
	}
	clean, ascii := n.cleanText(text)
	if ascii {
		// Nothing in ASCII decomposes, and clean has lower-cased already.
		return clean
	}
	if n.stripAccents {
		clean = n.stripMarks(clean)
	}
	if n.lowerCase {
		clean = lower(clean)
	}
	return clean
}

// cleanText returns text without control characters, with every space as U+0020 and, if n.ideographs is set, with
// spaces around ideographs. It lower-cases letters of ASCII alone, if n.lowerCase is set. The second result is true
// if the returned text is all ASCII.
func (n *normaliser) cleanText(text string) (string, bool) {
	var out strings.Builder
	out.Grow(len(text))
	ascii := true
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			i++
			switch n.classes.plane0[c] {
			case control:
			case space:
				out.WriteByte(' ')
			default:
				if n.lowerCase && 'A' <= c && c <= 'Z' {
					c += 'a' - 'A'
				}
				out.WriteByte(c)
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch n.classes.classify(r) {
		case control:
			continue
		case space:
			out.WriteByte(' ')
		case ideograph:
			ascii = false
			if !n.ideographs {
				out.WriteRune(r)
				continue
			}
			out.WriteByte(' ')
			out.WriteRune(r)
			out.WriteByte(' ')
		default:
			ascii = false
			out.WriteRune(r)
		}
	}
	return out.String(), ascii
}

// stripMarks returns text decomposed and without non-spacing marks. The library puts a joiner between more than 30
// marks in a row; it is itself such a mark and goes as well.
func (n *normaliser) stripMarks(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf && n.classes.classify(r) == mark {
			return -1
		}
		return r
	}, norm.NFD.String(text))
}

// lower returns text with each character in its full lower-case form. Only that of İ has two characters.
func lower(text string) string {
	if strings.ContainsRune(text, 'İ') {
		text = strings.ReplaceAll(text, "İ", "i̇")
	}
	return strings.Map(unicode.ToLower, text)
}
