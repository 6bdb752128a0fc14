package main

// The word rules, as a regular expression over sets of code points. They are
// those of Unicode Standard Annex #29 (WB4 to WB13b) and, for emoji, of Unicode
// Technical Standard #51 (emoji_sequence), taken the way Lucene's
// StandardTokenizer takes them:
//
//   - what no rule joins is no word and is passed over, one code point at a time;
//   - each ideograph and each Hiragana letter is a word of its own;
//   - a run of a script whose words need a dictionary (Thai, Lao, Khmer,
//     Myanmar: Line_Break=Complex_Context) is one word;
//   - the longest match wins.

// words matches one word.
func words() node {
	extend := star(set("Extend"))                                          // WB4
	extendPlain := star(setBut("Extend", "TextSelector", "EmojiSelector")) // WB4 inside emoji, whose selectors count
	with := func(names ...string) node { return seq(set(names...), extend) }

	var (
		hebrew   = with("Hebrew")
		letter   = with("Letter", "Hebrew")
		numeric  = with("Numeric")
		katakana = with("Katakana")
		joiner   = with("ExtendNumLet")
		midWord  = with("MidLetter", "MidNumLet", "SingleQuote")
		midNum   = with("MidNum", "MidNumLet", "SingleQuote")
	)

	// WB13: Katakana × Katakana; WB13a, WB13b: joiners on both sides.
	kana := seq(katakana, star(seq(star(joiner), katakana)))
	// WB7a to WB7c: quotes in Hebrew words.
	hebrewWord := seq(hebrew, alt(with("SingleQuote"), seq(with("DoubleQuote"), hebrew)))
	// WB8, WB11, WB12: one mark inside a number.
	number := seq(numeric, star(seq(alt(star(joiner), midNum), numeric)))
	// WB5 to WB7: one mark inside a word.
	word := seq(letter, star(seq(alt(star(joiner), midWord), letter)))
	// WB9, WB10: letters and digits mix.
	part := alt(kana, plus(alt(hebrewWord, number, word)))
	alphanumeric := seq(star(joiner), part, star(seq(plus(joiner), part)), star(joiner))

	pictograph := seq(set("Emoji"), extendPlain)
	person := seq(set("EmojiBase"), extendPlain)
	skin := seq(set("EmojiModifier"), extendPlain)
	zwj := set("ZWJ")
	element := alt(
		seq(star(zwj), pictograph, opt(set("EmojiSelector"))),
		seq(opt(seq(star(zwj), person)), skin),
	)
	emoji := alt(
		seq(element, alt(star(seq(zwj, element)), seq(plus(set("Tag")), set("TagEnd")))),
		seq(set("KeyCapBase"), extendPlain, opt(set("EmojiSelector")), set("KeyCap"), extendPlain),
		seq(with("Regional"), with("Regional")),
	)

	return alt(
		emoji,
		alphanumeric,
		plus(with("SouthEastAsian")),
		with("Han"),
		with("Hiragana"),
	)
}
