package questions

import (
	_ "embed"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
)

//go:embed wordings.txt
var wordings string

// GeneratedDomain is the name of Generate.
const GeneratedDomain = "generated"

// Text is a passage from which Generate makes questions.
type Text struct{ ID, Title, Text string }

// Generate returns questions about exact things in texts, as people type them into a search box: words with digits
// (part numbers, dates, sums), names, and a few rare words. With each comes an unanswerable one about what none of the
// texts has: a word with another digit, or a name or words put together from two texts. The same texts give the same
// questions.
func Generate(texts []Text) Domain {
	g := &generator{forms: map[string][]string{}, texts: map[string]int{}}
	for line := range strings.Lines(wordings) {
		kind, form, _ := strings.Cut(strings.TrimSpace(line), " ")
		g.forms[kind] = append(g.forms[kind], form)
	}
	read := make([][]word, len(texts))
	for i, t := range texts {
		read[i] = append(wordsOf(t.Title), wordsOf(t.Text)...)
		seen := map[string]bool{}
		for _, w := range read[i] {
			if !seen[w.lower] {
				seen[w.lower] = true
				g.texts[w.lower]++
			}
		}
	}
	for i, t := range texts {
		sum := fnv.New64a()
		_, _ = sum.Write([]byte(t.ID))
		g.random = rand.New(rand.NewPCG(sum.Sum64(), 35))
		g.id = t.ID
		g.askForCodes(read[i])
		g.askForNames(read[i])
		g.askForWords(read[i])
	}
	return NewDomain(GeneratedDomain, g.out, 0)
}

// generator makes the questions of Generate, one text after the other.
type generator struct {
	forms map[string][]string
	// number of texts that have a word, in lower case
	texts  map[string]int
	random *rand.Rand
	id     string
	out    []Question
	// two words of a name in an earlier text; nil: there was none
	name []string
	// rare words of an earlier text; nil: there were none
	rare []string
}

// word is a word of a text, as separated by white space, without the punctuation around it.
type word struct {
	text, lower string
	// it begins a sentence
	begins bool
}

// wordsOf returns the words of a text in their order.
func wordsOf(text string) (out []word) {
	begins := true
	for _, field := range strings.Fields(text) {
		trimmed := strings.TrimFunc(field, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) })
		if trimmed != "" {
			out = append(out, word{trimmed, strings.ToLower(trimmed), begins})
		}
		begins = strings.ContainsAny(field[len(field)-1:], ".!?:;)")
	}
	return out
}

// few is the largest number of texts that may have a word by which something exact is asked.
const few = 3

// addQuestion adds a question of a kind ("code", "name" or "words") about the drawn words, in a wording drawn at
// random; answerable is false if no text has them together.
func (g *generator) addQuestion(kind string, answerable bool, drawn ...string) {
	form := g.forms[kind][g.random.IntN(len(g.forms[kind]))]
	text := strings.Join(drawn, " ")
	if kind != "code" && g.random.IntN(2) == 0 {
		text = strings.ToLower(text)
	}
	g.out = append(
		g.out,
		Question{
			ID:           fmt.Sprintf("%s/%d", g.id, len(g.out)),
			Text:         strings.Replace(form, "{}", text, 1),
			Drawn:        text,
			Unanswerable: !answerable,
		},
	)
}

// askForCodes adds a question for a rare word with a digit, chosen at random from words, such as an order number. If no
// text has the same word with another digit, it also adds a question for that, which has no answer. It adds none if
// words has no such word.
func (g *generator) askForCodes(words []word) {
	var at []int
	for i, w := range words {
		if strings.ContainsFunc(w.text, unicode.IsDigit) && len(w.text) > 2 && g.texts[w.lower] <= few {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return
	}
	i := at[g.random.IntN(len(at))]
	before := func(code string) []string { // one in four with the word before it, as "extension 9320"
		if i > 0 && !words[i].begins && g.random.IntN(4) == 0 {
			return []string{words[i-1].text, code}
		}
		return []string{code}
	}
	g.addQuestion("code", true, before(words[i].text)...)
	if other := g.changeDigit(words[i].text); g.texts[strings.ToLower(other)] == 0 {
		g.addQuestion("code", false, before(other)...)
	}
}

// changeDigit returns a code with one digit, drawn at random, changed; the code itself if it has no digit.
func (g *generator) changeDigit(code string) string {
	runes := []rune(code)
	var at []int
	for i, r := range runes {
		if '0' <= r && r <= '9' {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return code
	}
	i := at[g.random.IntN(len(at))]
	runes[i] = '0' + (runes[i]-'0'+1+rune(g.random.IntN(9)))%10
	return string(runes)
}

// askForNames adds a question about two capitalised words that follow each other, and one about the first of them with
// the second of an earlier name. It adds none if there is no rare name.
func (g *generator) askForNames(words []word) {
	var at []int
	for i := 1; i < len(words); i++ {
		if isCapitalised(words[i-1]) && isCapitalised(words[i]) && !words[i].begins &&
			min(g.texts[words[i-1].lower], g.texts[words[i].lower]) <= few {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return
	}
	i := at[g.random.IntN(len(at))]
	name := []string{words[i-1].text, words[i].text}
	g.addQuestion("name", true, name...)
	if g.name != nil {
		g.addQuestion("name", false, name[0], g.name[1])
	}
	g.name = name
}

// isCapitalised reports whether a word has more than two letters, of which only the first has to be a capital one;
// hyphens and apostrophes may be among them.
func isCapitalised(w word) bool {
	lower := false
	for i, r := range w.text {
		if i == 0 && !unicode.IsUpper(r) || !unicode.IsLetter(r) && r != '-' && r != '\'' {
			return false
		}
		lower = lower || unicode.IsLower(r)
	}
	return lower && len(w.text) > 2
}

// together is the number of consecutive words of a text from which the words of a question are drawn.
const together = 10

// askForWords adds a question about the two to four rarest words of a random stretch of a text, and one about some
// of them together with words of an earlier text, if there was one. It adds none if the stretch has fewer than two
// words of more than three letters.
func (g *generator) askForWords(words []word) {
	from := g.random.IntN(max(1, len(words)-together))
	words = words[from:min(len(words), from+together)]
	var chosen []word
	for _, w := range words {
		if len(w.text) > 3 && !strings.ContainsFunc(w.text, func(r rune) bool { return !unicode.IsLetter(r) }) &&
			!slices.ContainsFunc(chosen, func(x word) bool { return x.lower == w.lower }) {
			chosen = append(chosen, w)
		}
	}
	slices.SortStableFunc(chosen, func(a, b word) int { return g.texts[a.lower] - g.texts[b.lower] })
	chosen = chosen[:min(len(chosen), 2+g.random.IntN(3))]
	if len(chosen) < 2 {
		return
	}
	var drawn []string
	for _, w := range words { // in the order of the text
		if at := slices.IndexFunc(chosen, func(x word) bool { return x.lower == w.lower }); at >= 0 {
			drawn = append(drawn, w.text)
			chosen = slices.Delete(chosen, at, at+1)
		}
	}
	g.addQuestion("words", true, drawn...)
	if g.rare != nil {
		g.addQuestion("words", false, append(slices.Clone(drawn[:len(drawn)/2]), g.rare[len(g.rare)/2:]...)...)
	}
	g.rare = drawn
}
