package words

import (
	"fmt"
	"regexp"
	"strings"
)

// The word rules, as regular expressions over sets of code points: {Letter} is a
// code point of that set, {Extend-ZWJ} one that is not in the second set too, and
// <number> another rule. They are those of Unicode Standard Annex #29 (WB4 to
// WB13b) and, for emoji, of Unicode Technical Standard #51 (emoji_sequence), taken
// the way Lucene's StandardTokenizer takes them:
//
//   - what no rule joins is no word and is passed over, one code point at a time;
//   - each ideograph and each Hiragana letter is a word of its own;
//   - a run of a script whose words need a dictionary (Thai, Lao, Khmer,
//     Myanmar: Line_Break=Complex_Context) is one word;
//   - the longest match wins.
//
// A rule is used by rules below it alone; the last one is a word.
var rules = [][2]string{
	{"extend", `{Extend}*`},                           // WB4
	{"plain", `{Extend-TextSelector-EmojiSelector}*`}, // WB4 inside emoji, whose selectors count

	{"hebrew", `{Hebrew}<extend>`},
	{"letter", `(?:{Letter}|{Hebrew})<extend>`},
	{"numeric", `{Numeric}<extend>`},
	{"katakana", `{Katakana}<extend>`},
	{"joiner", `{ExtendNumLet}<extend>`},
	{"midword", `(?:{MidLetter}|{MidNumLet}|{SingleQuote})<extend>`},
	{"midnum", `(?:{MidNum}|{MidNumLet}|{SingleQuote})<extend>`},

	// WB13: Katakana × Katakana; WB13a, WB13b: joiners on both sides.
	{"kana", `<katakana>(?:<joiner>*<katakana>)*`},
	// WB7a to WB7c: quotes in Hebrew words.
	{"quoted", `<hebrew>(?:{SingleQuote}<extend>|{DoubleQuote}<extend><hebrew>)`},
	// WB8, WB11, WB12: one mark inside a number.
	{"number", `<numeric>(?:(?:<joiner>*|<midnum>)<numeric>)*`},
	// WB5 to WB7: one mark inside a word.
	{"word", `<letter>(?:(?:<joiner>*|<midword>)<letter>)*`},
	// WB9, WB10: letters and digits mix.
	{"part", `(?:<kana>|(?:<quoted>|<number>|<word>)+)`},
	{"alphanumeric", `<joiner>*<part>(?:<joiner>+<part>)*<joiner>*`},

	{"element", `(?:{ZWJ}*{Emoji}<plain>{EmojiSelector}?|(?:{ZWJ}*{EmojiBase}<plain>)?{EmojiModifier}<plain>)`},
	{"emoji", `<element>(?:(?:{ZWJ}<element>)*|{Tag}+{TagEnd})|` +
		`{KeyCapBase}<plain>{EmojiSelector}?{KeyCap}<plain>|{Regional}<extend>{Regional}<extend>`},

	{"", `<emoji>|<alphanumeric>|(?:{SouthEastAsian}<extend>)+|{Han}<extend>|{Hiragana}<extend>`},
}

var (
	ruleName = regexp.MustCompile(`<\w+>`)
	setNames = regexp.MustCompile(`\{[\w-]+\}`)
)

// expression returns the word rules as one regular expression over classes. classes holds, for each class, the names of
// its sets with a + between them; the code point firstClass plus a class's number stands for it.
func expression(classes []string) string {
	known := map[string]string{}
	last := ""
	for _, rule := range rules {
		last = ruleName.ReplaceAllStringFunc(rule[1], func(name string) string { return known[name] })
		known["<"+rule[0]+">"] = "(?:" + last + ")"
	}
	return setNames.ReplaceAllStringFunc(last, func(names string) string {
		names = strings.Trim(names, "{}")
		wanted, unwanted, _ := strings.Cut(names, "-")
		list := ""
		for class, in := range classes {
			if sets := "+" + in + "+"; !strings.Contains(sets, "+"+wanted+"+") || hasAny(sets, unwanted) {
				continue
			}
			list += fmt.Sprintf(`\x{%x}`, firstClass+class)
		}
		return "[" + list + "]"
	})
}

// hasAny reports whether one of names, which have a - between them, is among sets, in which each name has a + before
// and after it.
func hasAny(sets, names string) bool {
	for name := range strings.SplitSeq(names, "-") {
		if strings.Contains(sets, "+"+name+"+") {
			return true
		}
	}
	return false
}
