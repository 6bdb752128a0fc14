package documents

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// candidateEncoding is an encoding that guessEncoding tries.
type candidateEncoding struct {
	name      string
	encoding  encoding.Encoding
	languages []alphabet         // that are written in it; nil of one whose characters have two bytes
	common    func(rune) float64 // how likely a character of two bytes is, from -1 to 1
	prior     float64            // what is added to its score: of equal ones the usual one is taken
}

// candidateEncodings returns the encodings that guessEncoding tries, the most usual first.
func candidateEncodings() []candidateEncoding {
	west := []alphabet{german, french, spanish, portuguese, italian, swedish, danish, dutch, icelandic, catalan}
	central := []alphabet{polish, czech, slovak, hungarian, southSlav, romanian, german}
	cyrillic := []alphabet{russian, ukrainian, bulgarian, serbian}
	baltic := []alphabet{lithuanian, latvian, estonian}
	turk := []alphabet{turkish}
	return []candidateEncoding{
		{name: "windows-1252", encoding: charmap.Windows1252, languages: west, prior: 0.06},
		{name: "windows-1250", encoding: charmap.Windows1250, languages: central, prior: 0.04},
		{name: "windows-1251", encoding: charmap.Windows1251, languages: cyrillic, prior: 0.04},
		{name: "windows-1253", encoding: charmap.Windows1253, languages: []alphabet{greek}, prior: 0.04},
		{name: "windows-1254", encoding: charmap.Windows1254, languages: turk, prior: 0.04},
		{name: "windows-1255", encoding: charmap.Windows1255, languages: []alphabet{hebrew}, prior: 0.04},
		{name: "windows-1256", encoding: charmap.Windows1256, languages: []alphabet{arabic}, prior: 0.04},
		{name: "windows-1257", encoding: charmap.Windows1257, languages: baltic, prior: 0.03},
		{name: "Shift_JIS", encoding: japanese.ShiftJIS, common: likelyJapanese, prior: 0.04},
		{name: "GB18030", encoding: simplifiedchinese.GB18030, common: likelyIn(simplifiedchinese.GBK, 0xd7), prior: 0.04},
		{name: "Big5", encoding: traditionalchinese.Big5, common: likelyIn(traditionalchinese.Big5, 0xc6), prior: 0.03},
		{name: "EUC-KR", encoding: korean.EUCKR, common: likelyKorean(), prior: 0.04},
		{name: "EUC-JP", encoding: japanese.EUCJP, common: likelyJapanese, prior: 0.03},
		{name: "KOI8-R", encoding: charmap.KOI8R, languages: []alphabet{russian, bulgarian}, prior: 0.02},
		{name: "KOI8-U", encoding: charmap.KOI8U, languages: []alphabet{ukrainian}, prior: 0.02},
		{name: "ISO-8859-2", encoding: charmap.ISO8859_2, languages: central, prior: 0.02},
		{name: "ISO-8859-5", encoding: charmap.ISO8859_5, languages: cyrillic},
		{name: "ISO-8859-7", encoding: charmap.ISO8859_7, languages: []alphabet{greek}, prior: 0.02},
		{name: "ISO-8859-13", encoding: charmap.ISO8859_13, languages: baltic},
		{name: "ISO-8859-15", encoding: charmap.ISO8859_15, languages: west, prior: 0.01},
		{name: "IBM437", encoding: charmap.CodePage437, languages: west, prior: 0.01},
		{name: "IBM850", encoding: charmap.CodePage850, languages: west},
		{name: "IBM852", encoding: charmap.CodePage852, languages: central},
		{name: "IBM866", encoding: charmap.CodePage866, languages: cyrillic},
		{name: "macintosh", encoding: charmap.Macintosh, languages: west, prior: 0.01},
		{name: "x-mac-cyrillic", encoding: charmap.MacintoshCyrillic, languages: cyrillic},
	}
}

// likelyJapanese returns a rating, from -0.5 to 1, of how likely a character is in Japanese text. Kana are in every
// sentence; half-width marks, which have one byte each, are rare.
func likelyJapanese(r rune) float64 {
	switch {
	case r >= 0xff61 && r <= 0xff9f:
		return -0.3
	case unicode.In(r, unicode.Hiragana, unicode.Katakana), r >= 0x3000 && r <= 0x30ff:
		return 1
	case unicode.Is(unicode.Han, r):
		return 0.6
	case r >= 0xff00 && r <= 0xffef, r >= 0x2010 && r <= 0x266f: // letters and signs of full width
		return 0.4
	}
	return -0.5
}

// likelyKorean returns a function that rates, from -0.8 to 1, how likely a character other than ASCII is in Korean
// text: 1 for the usual syllables, which are those of KS X 1001, and -0.8 for other syllables.
func likelyKorean() func(rune) float64 {
	encoder := korean.EUCKR.NewEncoder()
	return func(r rune) float64 {
		switch {
		case unicode.Is(unicode.Hangul, r):
			b, err := encoder.Bytes(utf8.AppendRune(nil, r))
			if err != nil || len(b) != 2 || b[0] < 0xb0 || b[1] < 0xa1 {
				return -0.8 // of the extension by rare ones
			}
			return 1
		case unicode.Is(unicode.Han, r):
			return -0.2
		case r >= 0x3000 && r <= 0x303f, r >= 0xff00 && r <= 0xffef:
			return 0.5
		}
		return -0.5
	}
}

// likelyIn returns a function that rates how likely a character is in Chinese text in an encoding. Usual characters
// have codes whose first byte is at most `last`.
func likelyIn(e encoding.Encoding, last byte) func(rune) float64 {
	encoder := e.NewEncoder()
	return func(r rune) float64 {
		switch {
		case unicode.Is(unicode.Han, r):
			b, err := encoder.Bytes(utf8.AppendRune(nil, r))
			if err != nil || len(b) != 2 {
				return -0.5
			}
			if first := b[0]; (first >= 0xb0 || last < 0xd0 && first >= 0xa4) && first <= last && b[1] >= 0x40 {
				if last >= 0xd0 && b[1] < 0xa1 { // a rare one that GBK put between those of GB 2312
					return -0.2
				}
				return 0.9
			}
			return -0.2
		case r >= 0x3000 && r <= 0x303f, r >= 0xff00 && r <= 0xffef, r >= 0x2010 && r <= 0x2026:
			return 0.6
		}
		return -0.4
	}
}

// score rates, from -2 to 1, how much a text decoded with this encoding looks like the best fitting of the
// languages written in it. A text in ASCII alone has 0.
func (c *candidateEncoding) score(text string) float64 {
	if c.common != nil {
		return scoreWide(strings.TrimRight(text, string(utf8.RuneError)), c.common)
	}
	best := -2.0
	for _, a := range c.languages {
		letters, latin := a.weigh()
		best = max(best, scoreDecoded(text, letters, latin))
	}
	return best
}

// scoreDecoded rates, from -2 to 1, how much a text looks like the language with these letters: the mean over its
// characters that are not ASCII. Letters of the language count for it. Other letters, signs and controls inside words,
// words in two scripts and capitals after small letters count against it.
func scoreDecoded(text string, letters map[rune]float64, latin bool) float64 {
	sum, count := 0.0, 0
	var before rune
	for at, r := range text {
		if r < utf8.RuneSelf {
			before = r
			continue
		}
		count++
		next, _ := utf8.DecodeRuneInString(text[at+utf8.RuneLen(r):])
		weight, known := letters[unicode.ToLower(r)]
		switch {
		case r == utf8.RuneError, unicode.IsControl(r), !unicode.IsPrint(r) && !unicode.IsSpace(r):
			sum -= 2
		case known:
			sum += weight
			if unicode.IsUpper(r) && unicode.IsLower(before) {
				sum -= 1.5
			}
			if !latin && asciiLetter(before) {
				sum -= 1.5
			}
			if latin && before >= utf8.RuneSelf && unicode.IsLetter(before) {
				sum -= 0.8 // a language in Latin letters has most of them from ASCII
			}
		case unicode.IsLetter(r), unicode.IsMark(r):
			sum -= 2
		case unicode.IsLetter(before) && unicode.IsLetter(next):
			if r == '’' || r == '‑' || r == '­' || r == '·' || r == '–' || r == '—' {
				sum += 0.4
			} else {
				sum -= 1.5
			}
		case strings.ContainsRune("£¥²³¹ªº¼½¾±×", r) && unicode.IsLetter(next):
			sum -= 1.5 // it stands at a number
		case usualSign(r):
			sum += 0.5
		case r >= 0x2500 && r <= 0x259f: // boxes, drawn in a row
			if before >= 0x2500 && before <= 0x259f || next >= 0x2500 && next <= 0x259f {
				sum += 0.5
			} else {
				sum -= 1.5
			}
		default:
			sum -= 0.5
		}
		before = r
	}
	if count == 0 {
		return 0
	}
	return sum / float64(count)
}

// asciiLetter reports whether a character is one of a to z or A to Z.
func asciiLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// usualSign reports whether a character outside of ASCII is a quotation mark, a dash, a currency sign, a fraction or
// another sign that texts of any language have.
func usualSign(r rune) bool {
	switch r {
	case '“', '”', '„', '‘', '’', '‚', '«', '»', '–', '—', '…', '•', '·', '€', '£', '§', '°', '©', '®', '™', '±', '×', '½', '¼', '²', '³',
		'µ', '№', '¿', '¡', '\u00a0', 'º', 'ª', '¾', '¥', '¢':
		return true
	}
	return false
}

// scoreWide rates, from -2 to 1, how much a text decoded from a two-byte encoding looks like its language: the mean
// over the bytes that are not ASCII of the ratings of `common`.
func scoreWide(text string, common func(rune) float64) float64 {
	sum, count := 0.0, 0
	var before rune
	for _, r := range text {
		beside := before
		before = r
		if beside >= utf8.RuneSelf && unicode.IsLetter(beside) && r >= 'a' && r <= 'z' ||
			r >= utf8.RuneSelf && unicode.IsLetter(r) && beside >= 'a' && beside <= 'z' {
			sum-- // a word in two scripts
		}
		switch {
		case r < utf8.RuneSelf:
		case r == utf8.RuneError:
			sum -= 8
			count++
		case r >= 0xff61 && r <= 0xff9f: // of one byte
			sum += common(r)
			count++
		default:
			sum += 2 * common(r)
			count += 2
		}
	}
	if count == 0 {
		return 0
	}
	return max(-2, sum/float64(count))
}

// weigh returns how much each letter of an alphabet counts for its language, and whether it is in the Latin script.
// Letters of Latin alphabets count 1; in other alphabets the most frequent third counts 1, the next 0.5 and the
// rarest -0.2. The alphabet must not be empty.
func (a alphabet) weigh() (letters map[rune]float64, latin bool) {
	letters = map[rune]float64{}
	all := []rune(string(a))
	latin = unicode.Is(unicode.Latin, all[0])
	for i, r := range all {
		switch {
		case latin, i*3 < len(all):
			letters[r] = 1
		case i*3 < 2*len(all):
			letters[r] = 0.5
		default:
			letters[r] = -0.2
		}
	}
	return letters, latin
}
