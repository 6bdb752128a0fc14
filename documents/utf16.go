package documents

import (
	"unicode"
	"unicode/utf16"
)

// utf16Looks is how many bytes of a file are examined for UTF-16.
const utf16Looks = 8 << 10

// unmarkedUTF16 returns "UTF-16LE" or "UTF-16BE" for a text in UTF-16 without a byte order mark, and "" for other
// bytes. Such a text has NUL bytes in only one half of its units, from spaces, digits and Latin letters, and decodes to
// assigned characters.
func unmarkedUTF16(data []byte) string {
	if len(data) < 4 || len(data)%2 == 1 {
		return ""
	}
	head := data[:min(len(data), utf16Looks)&^1]
	var nul [2]int
	for i, b := range head {
		if b == 0 {
			nul[i%2]++
		}
	}
	low, name := 0, "UTF-16LE"
	if nul[0] > nul[1] {
		low, name = 1, "UTF-16BE"
	}
	// Space stands between words, which hardly have thirty letters.
	if nul[1-low]*30 < len(head)/2 || nul[low]*20 > nul[1-low] {
		return ""
	}
	units := make([]uint16, len(head)/2)
	for i := range units {
		units[i] = uint16(head[2*i+low]) | uint16(head[2*i+1-low])<<8
	}
	odd := 0
	for _, r := range utf16.Decode(units) {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) && !unicode.IsSpace(r) && r != 0xfeff {
			odd++
		}
	}
	if odd*100 > len(units) {
		return ""
	}
	return name
}
