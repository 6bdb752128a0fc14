// Package talk tells messages that a chat answers without searching, such as thanks and "how many documents are
// there", from questions to the documents.
package talk

import (
	"embed"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Kind is the kind of a message, by what it asks for.
type Kind string

// Kinds of messages. examples.en.txt has examples of each.
const (
	Question Kind = "question" // something that documents may answer
	Greeting Kind = "greeting" // "hello"
	Thanks   Kind = "thanks"   // "thank you, that helps"
	Aside    Kind = "aside"    // "ok"
	Goodbye  Kind = "goodbye"  // "see you"
	Who      Kind = "who"      // who answers here, and what can be asked
	Count    Kind = "count"    // how many documents there are, and which
	About    Kind = "about"    // what the documents are about
	Updated  Kind = "updated"  // how old the documents are
	Document Kind = "document" // what one document says
	Within   Kind = "within"   // what one document says about a topic
)

// courtesies are the kinds that may stand before or after something else: "hello, how many documents are there?"
var courtesies = map[Kind]bool{Greeting: true, Thanks: true, Aside: true, Goodbye: true}

const (
	mostWords    = 24  // of a message that is no question
	mostCourtesy = 5   // words before or behind something else without a punctuation mark
	margin       = 1.0 // how much more likely (natural logarithm) than a question a message has to be another kind
	marginBehind = 8.0 // the same behind a question, which "how many?" goes on with more often than not; of no courtesy
	smoothing    = .05 // added to the count of each word and pair of words of a kind
)

// Languages are those in which messages other than questions are known, by their codes of ISO 639-1.
var Languages = []string{"en", "de", "es", "fr", "ja", "zh"}

// Classify returns the kind of a message that names no document, never Document or Within, and the first of Languages
// in which it is of that kind; "" for a Question. follows says whether the user asked something before. A message is a
// Question unless all its words are in one language's examples of another kind, and make that kind more likely; so are
// an empty one and one that asks for two kinds of things.
func Classify(message string, follows bool) (kind Kind, language string) {
	var parts [][]string
	for _, part := range strings.FieldsFunc(message, endsClause) {
		if words := wordsOf(part); len(words) > 0 {
			parts = append(parts, words)
		}
	}
	for i, m := range learned() {
		if kind := m.classifyParts(parts, follows); kind != Question {
			return kind, Languages[i]
		}
	}
	return Question, ""
}

// classifyParts returns the kind of a message in the model's language, as Classify describes it. parts are the words of
// its clauses, none of which is empty; without a clause it is a Question.
func (m *model) classifyParts(parts [][]string, follows bool) Kind {
	if len(parts) == 0 {
		return Question
	}
	kind := Aside
	for i, words := range parts {
		switch k := m.classifyAround(words, follows); {
		case k == Question:
			return Question
		case courtesies[kind] && (k != Aside || i == 0):
			kind = k
		case !courtesies[k] && k != kind:
			return Question // two things are asked
		}
	}
	return kind
}

// TrimCourtesies returns a message without the courtesies before and behind what it asks, such as "Hello," and "Thank
// you!". It returns the message as it is if it has none, or nothing else.
func TrimCourtesies(message string) string {
	begin := 0
	for {
		n := strings.IndexFunc(message[begin:], endsClause)
		if n < 0 || !isCourtesy(message[begin:begin+n]) {
			break
		}
		_, size := utf8.DecodeRuneInString(message[begin+n:])
		begin += n + size
	}
	end := len(message)
	for {
		clause := strings.TrimRightFunc(message[begin:end], func(r rune) bool { return endsClause(r) || unicode.IsSpace(r) })
		n := strings.LastIndexFunc(clause, endsClause)
		if n < 0 || !isCourtesy(clause[n:]) {
			break
		}
		_, size := utf8.DecodeRuneInString(clause[n:])
		end = begin + n + size
	}
	if rest := strings.TrimSpace(message[begin:end]); rest != "" && (begin > 0 || end < len(message)) {
		return rest
	}
	return message
}

// isCourtesy reports whether a part of a message has words, all of which are a courtesy.
func isCourtesy(part string) bool {
	words := wordsOf(part)
	is := func(m *model) bool { return courtesies[m.classify(words, false)] }
	return len(words) > 0 && slices.ContainsFunc(learned(), is)
}

// endsClause reports whether a rune ends a part of a message that is classified separately.
func endsClause(r rune) bool { return strings.ContainsRune(".!?,;:\n。！？、，", r) }

// wordsOf returns the words of a text in lower case, without apostrophes. Each symbol such as 👍 is a word, and so is
// each character of Chinese and Japanese, which have no spaces between words.
func wordsOf(text string) (words []string) {
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	for _, r := range strings.ToLower(text) {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			end()
			words = append(words, string(r))
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			word.WriteRune(r)
		case r == '\'' || r == '’':
		case unicode.IsSymbol(r):
			end()
			words = append(words, string(r))
		default:
			end()
		}
	}
	end()
	return words
}

// class has the word counts of the examples of one kind.
type class struct {
	kind   Kind
	first  bool // counts where no question stands before the message alone
	counts map[string]float64
	all    float64 // sum of counts
	words  map[string]bool
}

// countWords counts the words of one more example.
func (c *class) countWords(words []string) {
	for _, f := range wordsAndPairs(words) {
		c.counts[f]++
		c.all++
	}
	for _, w := range words {
		c.words[w] = true
	}
}

// wordsAndPairs returns each word, followed by its pair with the word before it, and at last the pair of the last
// word with nothing; "" stands before the first and after the last.
func wordsAndPairs(words []string) []string {
	out := make([]string, 0, 2*len(words)+1)
	before := ""
	for _, w := range words {
		out = append(out, w, before+" "+w)
		before = w
	}
	return append(out, before+" ")
}

// logLikelihood returns the natural logarithm of the probability of words among messages of the kind. distinct is
// the number of different words and pairs of all kinds.
func (c *class) logLikelihood(words []string, distinct int) float64 {
	sum := 0.0
	for _, f := range wordsAndPairs(words) {
		sum += math.Log((c.counts[f] + smoothing) / (c.all + smoothing*float64(distinct)))
	}
	return sum
}

// model classifies messages by the words of the kinds' examples (naive Bayes over words and pairs of words).
type model struct {
	classes   []*class        // other than of questions
	words     map[string]bool // of the examples of all classes
	questions *class
	distinct  int
	templates []template
}

// learned returns the models of Languages, in their order, which are made at the first call.
var learned = sync.OnceValue(func() []*model {
	models := make([]*model, len(Languages))
	for i, language := range Languages {
		text, err := examples.ReadFile("examples." + language + ".txt")
		if err != nil {
			panic(err) // it is in the program
		}
		models[i] = learnFrom(string(text))
	}
	return models
})

//go:embed examples.*.txt
var examples embed.FS

// learnFrom returns the model of a text with examples, in the form that the head of examples.en.txt describes. It does
// not check the form. The text must have a kind "question": without it, classifying a message with the model panics.
func learnFrom(text string) *model {
	m := &model{words: map[string]bool{}}
	all := map[string]bool{}
	var current *class
	var form template
	for _, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if header, ok := strings.CutPrefix(line, "= "); ok {
			name, condition, _ := strings.Cut(header, " ")
			current = nil
			form = template{kind: Kind(name), named: condition == "named"}
			if form.kind == Document || form.kind == Within {
				continue
			}
			current = &class{
				kind: form.kind, first: condition == "first", counts: map[string]float64{}, words: map[string]bool{},
			}
			if form.kind == Question {
				m.questions = current
			} else {
				m.classes = append(m.classes, current)
			}
			continue
		}
		if current == nil {
			m.templates = append(m.templates, form.withNames(line))
			continue
		}
		words := wordsOf(line)
		current.countWords(words)
		for _, w := range words {
			m.words[w] = m.words[w] || current != m.questions
		}
		for _, f := range wordsAndPairs(words) {
			all[f] = true
		}
	}
	m.distinct = len(all)
	return m
}

// classifyAround returns the kind of words whose first or last few may be a courtesy.
func (m *model) classifyAround(words []string, follows bool) Kind {
	if len(words) > mostWords || slices.ContainsFunc(words, func(w string) bool { return !m.words[w] }) {
		return Question // no class would have all words of each part
	}
	kind := m.classify(words, follows)
	for n := 1; kind == Question && n <= mostCourtesy && n < len(words); n++ {
		kind = m.classifyApart(words[:n], words[n:], follows)
		if kind == Question {
			kind = m.classifyApart(words[len(words)-n:], words[:len(words)-n], follows)
		}
	}
	return kind
}

// classifyApart returns the kind of the words next to a courtesy; Question if courtesy is none.
func (m *model) classifyApart(courtesy, words []string, follows bool) Kind {
	kindBeside := m.classify(courtesy, follows)
	if !courtesies[kindBeside] {
		return Question
	}
	kind := m.classify(words, follows)
	if kind == Aside {
		return kindBeside
	}
	return kind
}

// classify returns the kind of one clause, given as its words without courtesies before or after it (Classify). follows
// says whether the user asked something before. It returns Question unless all words are in the examples of another
// kind and make that kind more likely by margin; after a question, by marginBehind, except for courtesies.
func (m *model) classify(words []string, follows bool) Kind {
	best := m.questions
	question, most := 0.0, 0.0
	for _, c := range m.classes {
		if !c.hasAll(words) {
			continue
		}
		if question == 0 { // the logarithm of a product of probabilities is below 0; most texts are never compared
			question = m.questions.logLikelihood(words, m.distinct)
			most = question + margin
		}
		l := c.logLikelihood(words, m.distinct)
		if follows && !courtesies[c.kind] && l < question+marginBehind {
			continue
		}
		if l > most {
			best = c
			most = l
		}
	}
	if best.first && follows {
		return Question
	}
	return best.kind
}

// hasAll reports whether the examples of the kind have each of the words. One word alone has to begin one of them and,
// except for courtesies, to end one, too: "day" is in "good day", and "mit" in "spreche ich mit einem menschen", and
// alone each asks for something else.
func (c *class) hasAll(words []string) bool {
	if len(words) == 1 {
		begins, ends := c.counts[" "+words[0]] > 0, c.counts[words[0]+" "] > 0
		if !begins || !ends && !courtesies[c.kind] {
			return false
		}
	}
	for _, w := range words {
		if !c.words[w] {
			return false
		}
	}
	return true
}
