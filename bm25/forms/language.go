package forms

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"

	"example.org/conclave/internal/languages"
)

// language is how the words of a language other than English become terms: without its function words, stemmed by
// Snowball's algorithm; or how those of languages that are written without spaces do, as words.GramScanner finds them.
// It is the analysis Unicode in everything else.
type language struct {
	code    string                       // ISO 639-1
	version uint32                       // in AnalysisVersions
	stem    func(*snowballstem.Env) bool // nil: words stay as they are
	grams   bool                         // words are found by a words.GramScanner
	// elided are the words that lose their vowel before another, as l' in l'eau, without the apostrophe; nil: none do.
	elided []string
	// kept are function words that are terms nevertheless, since they are other words, too: est is is, and east.
	kept []string
	// suffixed says that what stands behind an apostrophe is an ending: İstanbul'da.
	suffixed bool
	// lower changes what is lower-cased in another way than elsewhere; nil: nothing.
	lower *strings.Replacer
	// spell changes a word in lower case before it is stemmed; nil: it stays.
	spell func(word string) string
}

// languageRules are the languages with an analysis of their own, in the order of their Analysis from firstLanguage on.
// Append to it, and never change a version that an index may have.
var languageRules = [...]language{
	{code: "de", version: 10, stem: german.Stem, spell: spellGerman},
	{code: "fr", version: 11, stem: french.Stem, elided: strings.Fields(
		"l m t qu n s j d c jusqu quoiqu lorsqu puisqu"), kept: strings.Fields(
		"est son fût as été étés sommes aura auras avions")},
	{code: "es", version: 12, stem: spanish.Stem},
	{code: "it", version: 13, stem: italian.Stem, elided: strings.Fields(
		"c l all dall dell nell sull coll pell gl agl dagl degl negl sugl un m t s v d")},
	{code: "pt", version: 14, stem: portuguese.Stem},
	{code: "nl", version: 15, stem: dutch.Stem},
	{code: "sv", version: 16, stem: swedish.Stem},
	{code: "da", version: 17, stem: danish.Stem},
	{code: "no", version: 18, stem: norwegian.Stem},
	{code: "fi", version: 19, stem: finnish.Stem},
	{code: "hu", version: 20, stem: hungarian.Stem},
	{code: "ro", version: 21, stem: romanian.Stem},
	{code: "ru", version: 22, stem: russian.Stem},
	{code: "tr", version: 23, stem: turkish.Stem, suffixed: true, lower: strings.NewReplacer("I", "ı", "İ", "i")},
	{code: "ar", version: 24, stem: arabic.Stem},
	{code: "ga", version: 25, stem: irish.Stem, elided: strings.Fields("d m b")},
	{code: unspaced, version: 26, grams: true},
}

// unspaced stands for languages that are written without spaces, and Korean, in the name of their analysis, which is
// that of Lucene's CJKAnalyzer for Chinese, Japanese and Korean, with single characters.
const unspaced = "unspaced"

// unspacedCodes are the codes of the languages that the analysis unspaced is for.
var unspacedCodes = []string{"zh", "ja", "ko", "th", "lo", "km", "my"}

// stopsUnspaced reports whether a word in lower case is one of those that CJKAnalyzer leaves out. They are English: in
// the languages themselves none is left out.
func stopsUnspaced(word string) bool {
	switch word {
	case "a", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of", "on",
		"or", "s", "such", "t", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will",
		"with", "www":
		return true
	}
	return false
}

// firstLanguage is the Analysis of languageRules[0].
const firstLanguage = Weighted + 1

// languageMark begins the name of an Analysis of a language, before its code.
const languageMark = "unicode-"

// languageGap stands between the codes in the name of an Analysis of several languages.
const languageGap = "+"

// english is the code of English.
const english = "en"

// OfLanguages returns the analysis of texts in languages by their codes: that of OfLanguage if all have the same one,
// and else one for all of them. With that, a word is a term as it is, and its stems in each of the languages are other
// forms of it (see Unicode), so that a word is found in other inflections whatever the passage's language is; texts in
// scripts that are written without spaces are analysed as by unspaced. The order of codes does not matter.
func OfLanguages(codes []string) Analysis {
	all := severalLanguages
	last := Unicode
	differ := false
	for i, code := range codes {
		a := OfLanguage(code)
		differ = differ || i > 0 && a != last
		last = a
		if at := int(a) - int(firstLanguage); at >= 0 {
			all |= 1 << at
		} else if code == english {
			all |= englishBit
		}
	}
	if !differ {
		return last
	}
	return all
}

// codes returns the codes of the languages of an Analysis of several, English first; nil for another one.
func (analysis Analysis) codes() (codes []string) {
	if analysis&severalLanguages == 0 {
		return nil
	}
	if analysis&englishBit != 0 {
		codes = append(codes, english)
	}
	for i := range languageRules {
		if analysis&(1<<i) != 0 {
			codes = append(codes, languageRules[i].code)
		}
	}
	return codes
}

// severalRules returns the languages of an Analysis of several by which words are stemmed, nil in the place of English;
// nil for another one.
func (analysis Analysis) severalRules() (all []*language) {
	for _, code := range analysis.codes() {
		if l := OfLanguage(code).rules(); l == nil || !l.grams {
			all = append(all, l)
		}
	}
	return all
}

// OfLanguage returns the analysis of texts in a language by its code (ISO 639-1): Unicode for English, and for a
// language without an analysis of its own.
func OfLanguage(code string) Analysis {
	switch {
	case code == "nb" || code == "nn": // both written languages of Norway
		code = "no"
	case slices.Contains(unspacedCodes, code):
		code = unspaced
	}
	for i := range languageRules {
		if languageRules[i].code == code {
			return firstLanguage + Analysis(i)
		}
	}
	return Unicode
}

// LanguageCodes returns the codes of the languages other than English that have an analysis of their own. One of them,
// unspaced, stands for several.
func LanguageCodes() (codes []string) {
	for i := range languageRules {
		codes = append(codes, languageRules[i].code)
	}
	return codes
}

// rules returns what an analysis does with words that is of one language other than English; nil: nothing.
func (analysis Analysis) rules() *language {
	if i := int(analysis) - int(firstLanguage); i >= 0 && i < len(languageRules) {
		return &languageRules[i]
	}
	return nil
}

// HasForms reports whether words are found in other forms, too (see Unicode): with every analysis but Lucene and
// Weighted.
func (analysis Analysis) HasForms() bool {
	return analysis == Unicode || analysis.rules() != nil || analysis&severalLanguages != 0
}

// HasGrams reports whether texts without spaces are analysed by their characters (words.GramScanner).
func (analysis Analysis) HasGrams() bool {
	a := NewAnalyser(analysis)
	return a.several != nil || a.language != nil && a.language.grams
}

// termOf returns the term of a word in lower case; "" for a function word.
func (l *language) termOf(word string) string {
	if l.grams {
		if stopsUnspaced(word) {
			return ""
		}
		return word
	}
	word = l.withoutElided(word)
	if languages.FunctionWordsOf(l.code)[word] && !slices.Contains(l.kept, word) {
		return ""
	}
	if l.spell != nil {
		word = l.spell(word)
	}
	env := snowballstem.NewEnv(word)
	l.stem(env)
	return env.Current()
}

// withoutClitic returns a word without what is written with it and is no part of it, in a language or, for nil, in
// English (Analyser.withoutClitic).
func (l *language) withoutClitic(word string) string {
	if l == nil {
		return withoutPossessive(word)
	}
	return l.withoutElided(word)
}

// withoutElided returns a word without an elided one before it, eau for l'eau, and in a language with such endings
// without what is behind an apostrophe. Three apostrophes are known.
func (l *language) withoutElided(word string) string {
	at := strings.IndexAny(word, "'\u2019\uff07")
	if at <= 0 || l.elided == nil && !l.suffixed {
		return word
	}
	if l.suffixed {
		return word[:at]
	}
	_, size := utf8.DecodeRuneInString(word[at:])
	for _, article := range l.elided {
		if strings.EqualFold(word[:at], article) {
			return word[at+size:]
		}
	}
	return word
}

// spellGerman returns a German word with umlauts for the pairs of letters that stand for them, as schoen for schön: ae,
// oe, and ue unless after q or a vowel, as in Quelle and neue. It is what Snowball's variant for such spellings does.
func spellGerman(word string) string {
	letters := []rune(word)
	out := letters[:0]
	before := rune(0)
	for i := 0; i < len(letters); i++ {
		r := letters[i]
		if i+1 < len(letters) && letters[i+1] == 'e' {
			switch {
			case r == 'a':
				r = 'ä'
			case r == 'o':
				r = 'ö'
			case r == 'u' && !strings.ContainsRune("qaeiouyäöü", before):
				r = 'ü'
			}
			if r != letters[i] {
				i++ // the e belongs to it
			}
		}
		before = r
		out = append(out, r)
	}
	return string(out)
}
