package wordpiece

import (
	"unicode"

	"golang.org/x/text/unicode/rangetable"
)

// class is what BERT's normaliser and pre-tokenizer do with a character.
type class uint8

const (
	letter      class = iota // part of a word
	space                    // separates words
	control                  // removed before anything else
	mark                     // removed after decomposition when accents are stripped
	punctuation              // a word by itself
	ideograph                // a word by itself: spaces are put around it
)

// classes tells the class of every character.
//
// The reference tokenizer (Hugging Face tokenizers) takes general categories
// from tables of Unicode 8.0, so a character assigned later is a letter to
// it, whatever it is today: models were trained on texts tokenised so. Go's
// newer tables are therefore cut down to what Unicode 8.0 had; the characters
// whose category changed since are set by hand. A test compares all 1,112,064
// characters with the reference.
//
// Built once for each tokenizer and then only read. The Basic Multilingual
// Plane is a flat array, since a range table costs a binary search for each
// character of a Russian or Chinese text.
type classes struct {
	plane0 [0x10000]class
	tables []classTable // the planes above
}

type classTable struct {
	class class
	table *unicode.RangeTable
}

// newClasses returns the classes of all characters as the reference has them. Making them takes some milliseconds.
func newClasses() *classes {
	old := rangetable.Assigned("8.0.0")
	c := &classes{tables: []classTable{
		{mark, inUnicode8(unicode.Mn, old)},
		{punctuation, inUnicode8(unicode.P, old)},
		{control, inUnicode8(rangetable.Merge(unicode.Cc, unicode.Cf), old)},
		{control, unicode.Co},
		{space, unicode.Z},
		{ideograph, ideographTable()},
	}}
	for _, t := range c.tables {
		rangetable.Visit(t.table, func(r rune) {
			if r < rune(len(c.plane0)) {
				c.plane0[r] = t.class
			}
		})
	}
	// ASCII symbols such as $ and + count as punctuation although Unicode
	// files them under S.
	for r := rune('!'); r <= '~'; r++ {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			c.plane0[r] = punctuation
		}
	}
	c.plane0['\t'], c.plane0['\n'], c.plane0['\r'] = space, space, space
	c.plane0[unicode.ReplacementChar] = control // also what broken UTF-8 reads as
	c.plane0[0x166D] = punctuation              // CANADIAN SYLLABICS CHI SIGN, now So
	c.plane0[0x1734] = mark                     // HANUNOO SIGN PAMUDPOD, now Mc
	c.plane0[0x1885] = letter                   // MONGOLIAN LETTER ALI GALI BALUDA, now Mn
	c.plane0[0x1886] = letter                   // MONGOLIAN LETTER ALI GALI THREE BALUDA, now Mn
	c.plane0[0xA9BD] = letter                   // JAVANESE CONSONANT SIGN KERET, now Mn
	return c
}

// classify returns the class of a character; letter for one that Unicode 8.0 did not have.
func (c *classes) classify(r rune) class {
	if r < rune(len(c.plane0)) {
		return c.plane0[r]
	}
	if r == 0x111C9 { // SHARADA SANDHI MARK, now Mn
		return punctuation
	}
	for _, t := range c.tables {
		if unicode.Is(t.table, r) {
			return t.class
		}
	}
	return letter
}

// inUnicode8 returns the part of table that was assigned in Unicode 8.0.
func inUnicode8(table, assigned *unicode.RangeTable) *unicode.RangeTable {
	var kept []rune
	rangetable.Visit(table, func(r rune) {
		if unicode.Is(assigned, r) {
			kept = append(kept, r)
		}
	})
	return rangetable.New(kept...)
}

// ideographTable returns the reference's list of blocks that are split character by
// character. It is not all of Han: later extensions are left out, and the gap
// between U+2B820 and U+2B91F is the reference's own.
func ideographTable() *unicode.RangeTable {
	return &unicode.RangeTable{
		R16: []unicode.Range16{
			{Lo: 0x3400, Hi: 0x4DBF, Stride: 1},
			{Lo: 0x4E00, Hi: 0x9FFF, Stride: 1},
			{Lo: 0xF900, Hi: 0xFAFF, Stride: 1},
		},
		R32: []unicode.Range32{
			{Lo: 0x20000, Hi: 0x2A6DF, Stride: 1},
			{Lo: 0x2A700, Hi: 0x2B73F, Stride: 1},
			{Lo: 0x2B740, Hi: 0x2B81F, Stride: 1},
			{Lo: 0x2B920, Hi: 0x2CEAF, Stride: 1},
			{Lo: 0x2F800, Hi: 0x2FA1F, Stride: 1},
		},
	}
}
