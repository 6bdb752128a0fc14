package languages

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/abadojack/whatlanggo"
	"github.com/bbalet/stopwords"
	"github.com/blugelabs/bluge/analysis"
	"github.com/blugelabs/bluge/analysis/lang/ar"
	"github.com/blugelabs/bluge/analysis/lang/bg"
	"github.com/blugelabs/bluge/analysis/lang/ca"
	"github.com/blugelabs/bluge/analysis/lang/ckb"
	"github.com/blugelabs/bluge/analysis/lang/cs"
	"github.com/blugelabs/bluge/analysis/lang/da"
	"github.com/blugelabs/bluge/analysis/lang/de"
	"github.com/blugelabs/bluge/analysis/lang/el"
	"github.com/blugelabs/bluge/analysis/lang/en"
	"github.com/blugelabs/bluge/analysis/lang/es"
	"github.com/blugelabs/bluge/analysis/lang/eu"
	"github.com/blugelabs/bluge/analysis/lang/fa"
	"github.com/blugelabs/bluge/analysis/lang/fi"
	"github.com/blugelabs/bluge/analysis/lang/fr"
	"github.com/blugelabs/bluge/analysis/lang/ga"
	"github.com/blugelabs/bluge/analysis/lang/gl"
	"github.com/blugelabs/bluge/analysis/lang/hi"
	"github.com/blugelabs/bluge/analysis/lang/hu"
	"github.com/blugelabs/bluge/analysis/lang/hy"
	"github.com/blugelabs/bluge/analysis/lang/id"
	"github.com/blugelabs/bluge/analysis/lang/it"
	"github.com/blugelabs/bluge/analysis/lang/nl"
	"github.com/blugelabs/bluge/analysis/lang/no"
	"github.com/blugelabs/bluge/analysis/lang/pt"
	"github.com/blugelabs/bluge/analysis/lang/ro"
	"github.com/blugelabs/bluge/analysis/lang/ru"
	"github.com/blugelabs/bluge/analysis/lang/sv"
	"github.com/blugelabs/bluge/analysis/lang/tr"
)

// FunctionWords are the words of a language that carry no meaning of their own: who, does, the.
type FunctionWords map[string]bool

// FunctionWordsOf returns the function words of a language by its code (ISO 639), from the lists of Snowball and
// Lucene, in lower case; nil for a language without a list. The caller must not change them.
func FunctionWordsOf(code string) FunctionWords { return functionWords()[code] }

// functionWords returns the function words of all languages that have a list, by code.
var functionWords = sync.OnceValue(func() map[string]FunctionWords {
	all := map[string]FunctionWords{}
	for code, list := range lists {
		all[code] = FunctionWords(list())
	}
	for _, word := range []string{"tällä", "tuota"} { // of which the library's list has misspellings
		all["fi"][word] = true
	}
	return all
})

// languagesOf returns, for each function word, the codes of the languages that have it.
var languagesOf = sync.OnceValue(func() map[string][]string {
	of := map[string][]string{}
	all := functionWords()
	for _, code := range slices.Sorted(maps.Keys(all)) {
		for word := range all[code] {
			of[word] = append(of[word], code)
		}
	}
	return of
})

// AllFunctionWords returns the function words of all languages that have a list.
func AllFunctionWords() FunctionWords {
	all := FunctionWords{}
	for lang := range whatlanggo.Langs {
		maps.Copy(all, FunctionWordsOf(codeOf(lang)))
	}
	return all
}

// Has reports whether a word is a function word, in upper or lower case. Of a word with an apostrophe, as qu'il or
// there's, the longest part is looked up.
func (f FunctionWords) Has(word string) bool {
	word = strings.ReplaceAll(strings.ToLower(word), "’", "'")
	if word == "" {
		return false
	}
	if f[word] || f[word+"not"] || f[word+"n't"] { // can and must are there only as cannot and mustn't
		return true
	}
	longest := ""
	for part := range strings.FieldsFuncSeq(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	}) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return f[longest]
}

// Opens reports whether a word, in any case, is one that questions begin with, in the language with a code: as
// warum, pourquoi and сколько are. It is a wider list than FunctionWords, of all words without meaning of their
// own. It is false for "" and for a language without a list.
func Opens(code, word string) bool {
	return lists[code] != nil && word != "" && strings.TrimSpace(stopwords.CleanString(word, code, false)) == ""
}

// Among returns the code of the language that a text is most likely in, out of those with the given codes; "" if
// codes is empty, and a single code whatever the text is. The text may be short.
func Among(text string, codes []string) (code string) {
	switch len(codes) {
	case 0:
		return ""
	case 1:
		return codes[0]
	}
	return codeOf(whatlanggo.DetectLangWithOptions(text, among(codes)))
}

// among returns options by which only the languages with these codes are detected.
func among(codes []string) whatlanggo.Options {
	allowed := map[whatlanggo.Lang]bool{}
	for lang := range whatlanggo.Langs {
		if slices.Contains(codes, codeOf(lang)) {
			allowed[lang] = true
		}
	}
	return whatlanggo.Options{Whitelist: allowed}
}

// leastTelling is how many words a question has at least, out of the function words of a language that no text of the
// collection is in, to be in that language.
const leastTelling = 2

// OfQuestion returns the code of the language that a question is in, which may be short; "" if that is not known. codes
// are those of the collection's languages. The question is in another one only if it has twice as many function words
// of that as of any of these, and two at least, or if its script is none of theirs.
func OfQuestion(question string, codes []string) (code string) {
	having := map[string]int{} // by language, how many of its function words the question has
	seen := map[string]bool{}
	for word := range strings.FieldsFuncSeq(question, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && r != '\'' && r != '’'
	}) {
		first, _ := utf8.DecodeRuneInString(word)
		if len(seen) > 0 && unicode.IsUpper(first) && word != strings.ToUpper(word) {
			continue // a part of a name, as in De La Soul
		}
		word = strings.ToLower(word)
		if !seen[word] {
			seen[word] = true
			for _, of := range languagesOf()[word] {
				having[of]++
			}
		}
	}
	most := 0
	for _, own := range codes {
		if having[own] > most {
			code = own
			most = having[own]
		}
	}
	other, others := "", 0
	for _, of := range slices.Sorted(maps.Keys(having)) {
		if having[of] > others {
			other = of
			others = having[of]
		}
	}
	if code := ofScript(question, codes); code != "" {
		return code
	}
	switch {
	case others >= leastTelling && others > 2*most:
		return other
	case most > 0:
		return code
	}
	return Among(question, codes)
}

// The codes of languages whose texts share characters.
const (
	chinese  = "zh"
	japanese = "ja"
)

// ofScript returns the code of the language of a text by its script, one of codes if one of these may be meant; "" for
// the Latin script, or if there are no letters.
func ofScript(text string, codes []string) string {
	script := whatlanggo.DetectScript(text)
	if script == nil || script == unicode.Latin {
		return ""
	}
	kana := strings.ContainsFunc(text, func(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana) })
	if script == unicode.Han && (kana || slices.Contains(codes, japanese) && !slices.Contains(codes, chinese)) {
		return japanese
	}
	if own := codeOf(whatlanggo.DetectLangWithOptions(text, among(codes))); slices.Contains(codes, own) {
		return own
	}
	return codeOf(whatlanggo.DetectLang(text))
}

// codeOf returns the ISO 639-1 code of a language, or 639-3 if it has none.
func codeOf(lang whatlanggo.Lang) string { return cmp.Or(lang.Iso6391(), lang.Iso6393()) }

// lists has the stop word lists of Snowball and Lucene, by the code of a language. bluge, and bbalet/stopwords in
// Opens, are linked for their lists only: the data of others may not be committed here.
var lists = map[string]func() analysis.TokenMap{
	"ar":  ar.StopWords,
	"bg":  bg.StopWords,
	"ca":  ca.StopWords,
	"ckb": ckb.StopWords,
	"cs":  cs.StopWords,
	"da":  da.StopWords,
	"de":  de.StopWords,
	"el":  el.StopWords,
	"en":  en.StopWords,
	"es":  es.StopWords,
	"eu":  eu.StopWords,
	"fa":  fa.StopWords,
	"fi":  fi.StopWords,
	"fr":  fr.StopWords,
	"ga":  ga.StopWords,
	"gl":  gl.StopWords,
	"hi":  hi.StopWords,
	"hu":  hu.StopWords,
	"hy":  hy.StopWords,
	"id":  id.StopWords,
	"it":  it.StopWords,
	"nb":  no.StopWords,
	"nl":  nl.StopWords,
	"nn":  no.StopWords,
	"no":  no.StopWords,
	"pt":  pt.StopWords,
	"ro":  ro.StopWords,
	"ru":  ru.StopWords,
	"sv":  sv.StopWords,
	"tr":  tr.StopWords,
}
