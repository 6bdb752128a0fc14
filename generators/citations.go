package generators

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/languages"
)

// Sentence is a sentence that a model wrote, with the result of comparing it with the passages.
type Sentence struct {
	Text string // without its citations at the end
	// indexes of the passages that it cites, from 0; if Attributed, of those that support it
	Passages []int
	// cited numbers that no passage has
	Unknown []string
	// Support is the share of its words that Passages have, from 0 to 1.
	Support float64
	// Supported says that Passages state it, as far as words, numbers and names tell.
	Supported bool
	// Attributed says that it cites no passage, or others than the one that supports it.
	Attributed bool
	// Unchecked says why it was not compared with the passages; "": it was.
	Unchecked UncheckedReason
	// Unfounded are its numbers and names that none of the passages has.
	Unfounded []string
}

// UncheckedReason is a reason why a sentence is not compared with passages.
type UncheckedReason string

// The reasons.
const (
	Unfinished    UncheckedReason = "unfinished"     // the answer was cut in it
	OtherLanguage UncheckedReason = "other_language" // the passages are in another one, and their words tell nothing
	Introduction  UncheckedReason = "introduction"   // it leads to a list or a table, and states nothing
	NoAnswer      UncheckedReason = "no_answer"      // it says that there is no answer
)

// LeastSupport is the least share of a sentence's words that the passages which it cites have to have
// (docs/evidence/marking.md has what other shares would do). They have to have all of its numbers and names.
const LeastSupport = .6

// comparison compares the sentences of an answer with the passages that it was written from.
type comparison struct {
	own       []map[string]bool // words of each passage
	asked     map[string]bool   // words of the question
	languages []string          // of the passages, by their codes; nil: it is not clear
	// functionWords are those of these languages, or of all if it is not clear.
	functionWords languages.FunctionWords
	nouns         bool // one of them writes all nouns with a capital letter, which so tells no names
}

// newComparison returns a comparison with passages, whose titles and places count as well. There may be no passages:
// then no sentence is supported.
func newComparison(question string, passages []Passage) *comparison {
	out := &comparison{asked: wordSet(question)}
	var texts []string
	for _, p := range passages {
		out.own = append(out.own, wordSet(p.Title+" "+p.Place+" "+p.Text))
		texts = append(texts, p.Text)
	}
	out.languages = languages.Of(texts)
	out.functionWords = languages.FunctionWords{}
	for _, code := range out.languages {
		maps.Copy(out.functionWords, languages.FunctionWordsOf(code))
	}
	if len(out.languages) == 0 {
		out.functionWords = languages.AllFunctionWords()
	}
	out.nouns = slices.Contains(out.languages, "de") || slices.Contains(out.languages, "lb")
	return out
}

// wordSet returns the set of the words of a text as forms.Analyse returns them.
func wordSet(text string) map[string]bool {
	words := map[string]bool{}
	for _, w := range forms.Analyse(text) {
		words[w] = true
	}
	return words
}

// containWord reports whether one of the passages with these numbers has a word, as forms.Analyse returns it.
func (c *comparison) containWord(passages []int, word string) bool {
	return slices.ContainsFunc(passages, func(i int) bool { return c.own[i][word] })
}

// Check compares what a model wrote to a question with the passages that it read, and returns the sentences in their
// order.
func Check(question, text string, passages []Passage) (out []Sentence) {
	against := newComparison(question, passages)
	for _, s := range sentencesOf(text) {
		out = append(out, against.compareSentence(text, s, false))
	}
	return out
}

// compareSentence returns the sentence at a place in a text, compared with the passages. cut says that the text ends
// within the sentence, which is then not compared.
func (c *comparison) compareSentence(text string, at span, cut bool) Sentence {
	s := Sentence{Text: text[at.begin:at.end]}
	plain := c.readCitations(&s, text[at.begin:at.until])
	terms := forms.Analyse(plain)
	foreign := c.isForeign(text[:at.until])
	s.Unfounded = c.missingNames(plain, c.allPassages(), foreign)
	s.Support = c.supportShare(terms, s.Passages)
	switch {
	case cut:
		s.Unchecked = Unfinished
		return s
	case len(s.Passages) > 0 && len(s.Unknown) == 0 && s.Support >= LeastSupport &&
		len(c.missingNames(plain, s.Passages, foreign)) == 0:
		s.Supported = true
		return s
	case cited.MatchString(s.Text): // a citation within it cannot be put right
	default:
		if best, ok := c.findSupporting(plain, foreign); ok {
			s.Passages = []int{best}
			s.Support = c.supportShare(terms, s.Passages)
			s.Supported = true
			s.Attributed = true
			return s
		}
	}
	switch {
	case len(s.Unfounded) > 0 && !c.inQuestion(s.Unfounded), len(s.Unknown) > 0:
	case at.opens:
		s.Unchecked = Introduction
	case len(s.Passages) == 0 && c.isDenial(plain):
		s.Unchecked = NoAnswer
	case foreign:
		s.Unchecked = OtherLanguage
	}
	return s
}

// readCitations sets the Passages and Unknown of s by the citations in a sentence, and returns the sentence without
// citations.
func (c *comparison) readCitations(s *Sentence, sentence string) (plain string) {
	return cited.ReplaceAllStringFunc(sentence, func(marks string) string {
		for _, digits := range number.FindAllString(marks, -1) {
			n, err := strconv.Atoi(digits)
			switch {
			case err != nil || n < 1 || n > len(c.own):
				s.Unknown = append(s.Unknown, digits)
			case !slices.Contains(s.Passages, n-1):
				s.Passages = append(s.Passages, n-1)
			}
		}
		return " "
	})
}

// allPassages returns the indexes of all passages, from 0.
func (c *comparison) allPassages() []int {
	all := make([]int, len(c.own))
	for i := range all {
		all[i] = i
	}
	return all
}

// supportShare returns the share of the words, from 0 to 1, that occur in at least one of the passages with these
// numbers; different words may be in different passages. It is 0 if there are no words.
func (c *comparison) supportShare(words []string, passages []int) float64 {
	if len(words) == 0 {
		return 0
	}
	found := 0
	for _, w := range words {
		if c.containWord(passages, w) {
			found++
		}
	}
	return float64(found) / float64(len(words))
}

// findSupporting returns the number of the passage that supports a sentence best: of those that have its first word and
// all its numbers and names, the one with the largest share of its words. Function words do not count, since some
// passage has them always. ok is false if no passage has a share of LeastSupport.
func (c *comparison) findSupporting(plain string, foreign bool) (best int, ok bool) {
	var words []string
	for _, field := range strings.Fields(plain) {
		field = strings.TrimFunc(field, func(r rune) bool { return !isWordRune(r) })
		if !c.functionWords.Has(field) {
			words = append(words, forms.Analyse(field)...)
		}
	}
	most := 0.
	for i := range c.own {
		share := c.supportShare(words, []int{i})
		if share >= LeastSupport && share > most && c.own[i][words[0]] &&
			len(c.missingNames(plain, []int{i}, foreign)) == 0 {
			best = i
			most = share
		}
	}
	return best, most > 0
}

// isForeign reports whether a text is in another language than all passages. It returns false if one of their languages
// is not clear.
func (c *comparison) isForeign(text string) bool {
	found := languages.Of([]string{text})
	if len(found) == 0 || len(c.languages) == 0 || slices.Contains(c.languages, found[0]) {
		return false
	}
	return languages.Among(text, append(slices.Clone(c.languages), found[0])) == found[0]
}

// inQuestion reports whether the question has each of these words, in any inflection.
func (c *comparison) inQuestion(words []string) bool {
	return !slices.ContainsFunc(forms.Analyse(strings.Join(words, " ")), func(w string) bool { return !c.asked[w] })
}

// isDenial reports whether a sentence has a negation and more words than those and the question's: "I do not know", but
// not "No.".
func (c *comparison) isDenial(plain string) bool {
	negated, more := false, false
	for _, field := range strings.Fields(strings.ToLower(plain)) {
		field = strings.Trim(field, ".,;:!?\"“”()*_")
		if negation.MatchString(field) {
			negated = true
			continue
		}
		for _, w := range forms.Analyse(field) {
			more = more || !c.asked[w]
		}
	}
	return negated && more
}

// negation matches the negations of some languages: English, German, Dutch, French, Spanish, Italian and Portuguese.
var negation = regexp.MustCompile(`^(?:no|not|none|nothing|never|neither|nor|cannot|without|unable|.+n['’]t|` +
	`nicht|nichts|kein(?:e|en|em|er|es)?|weder|niet|niets|geen|` +
	`ne|pas|aucune?|rien|n['’].+|ning[uú]n[oa]?|nada|sin|non|nessun[oa]?|nulla|n[aã]o|nenhuma?)$`)

// missingNames returns the words of a sentence, each once, that have a digit or are names and that none of the passages
// at these indices contains in any inflection. A name is a word with a capital letter that is not the sentence's first.
// Only words with digits are looked for if the sentence is foreign (isForeign), or if the passages are in a language
// that writes all nouns with a capital letter.
func (c *comparison) missingNames(sentence string, passages []int, foreign bool) (missing []string) {
	for i, field := range strings.Fields(sentence) {
		field = strings.TrimFunc(field, func(r rune) bool { return !isWordRune(r) })
		first, _ := utf8.DecodeRuneInString(field)
		if !strings.ContainsFunc(field, unicode.IsDigit) && (foreign || c.nouns || i == 0 || !unicode.IsUpper(first)) {
			continue
		}
		if slices.ContainsFunc(forms.Analyse(field), func(w string) bool { return !c.containWord(passages, w) }) &&
			!slices.Contains(missing, field) {
			missing = append(missing, field)
		}
	}
	return missing
}

// isWordRune reports whether a character is a letter or a digit.
func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
