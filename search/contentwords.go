package search

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/languages"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/naming"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/storage"
)

// How many random passages tell what a token of a question matches by chance: at most,
// and at least where they tell anything.
const (
	mostByChance  = 32
	leastByChance = 8
)

// byChance is the share of the random passages in which a token may match as well as in
// the one that is highlighted, or better, if that is to be more than chance.
const byChance = 0.2

// chanceMatches holds what the tokens of a question match in random passages.
type chanceMatches struct {
	passages []rank.Ordinal
	best     [][]float32 // for each passage, by token, the greatest inner product
}

// matchByChance compares a question with random passages. Those whose vectors are not at hand
// say nothing.
func matchByChance(index storage.TokenVectors, random []rank.Ordinal, question []float32, dim int) *chanceMatches {
	c := &chanceMatches{}
	for _, o := range random {
		if len(c.passages) == mostByChance {
			break
		}
		vectors, err := index.Vector(o)
		if err != nil || len(vectors) < dim {
			continue
		}
		var best []float32
		for tokens := question; len(tokens) >= dim; tokens = tokens[dim:] {
			most := float32(math.Inf(-1))
			for rest := vectors; len(rest) >= dim; rest = rest[dim:] {
				most = max(most, innerProduct(tokens[:dim], rest[:dim]))
			}
			best = append(best, most)
		}
		c.passages, c.best = append(c.passages, o), append(c.best, best)
	}
	return c
}

// thresholds returns, for each token, what a match in a passage has to exceed; nil where
// there are too few others to tell.
func (c *chanceMatches) thresholds(passage rank.Ordinal) []float32 {
	var others [][]float32
	for i, o := range c.passages {
		if o != passage {
			others = append(others, c.best[i])
		}
	}
	if len(others) < leastByChance {
		return nil
	}
	out, column := make([]float32, len(others[0])), make([]float32, len(others))
	for token := range out {
		for i := range others {
			column[i] = others[i][token]
		}
		slices.Sort(column)
		out[token] = column[len(column)-1-int(byChance*float64(len(column)))]
	}
	return out
}

// contentWords says which words of passages carry something: not the function words of their language, nor what a
// large part of the passages has.
type contentWords struct {
	mu         sync.Mutex
	generation uint64
	sample     []rank.Ordinal
	random     int            // passages
	having     map[string]int // of these, that have a word
	languages  []string       // of these, by their codes
	function   map[string]languages.FunctionWords

	all func() languages.FunctionWords // of all languages; nil until they are asked for
}

// leastBits is the least information of a word that is marked in a language whose function words are not known, as a
// share of that of a word that one passage has: -log(df/N) of log(N).
const leastBits = 1. / 3

// Among so many passages, a word of more than this share of them is marked in no language.
const (
	manyPassages = 100
	commonShare  = .15
)

// filter returns whether a word of a field of a passage in a view carries something, and not only in the question. One
// of which nothing is known does.
func (t *contentWords) filter(
	ctx context.Context,
	view *snapshot.Pinned,
	question string,
) func(*corpus.Passage, Highlight) bool {
	known := t.countWords(ctx, view)
	asks := t.functionWordsOf(ctx, view, question)
	return func(p *corpus.Passage, h Highlight) bool {
		if slices.Contains(asks, strings.ToLower(field(p, h.Field)[h.Start:h.End])) {
			return false
		}
		_, function := known.functionWords(p.Title + ". " + p.Text)
		return known.carries(field(p, h.Field), h.Start, h.End, function)
	}
}

// functionWords returns the language of a text, and its function words; nil where they are not known.
func (k *knownWords) functionWords(text string) (code string, words languages.FunctionWords) {
	code = languages.Among(text, k.languages)
	return code, k.function[code]
}

// functionWordsOf returns the words of a question that carry nothing, in lower case, in the language of the collection
// that it is closest to; nil where that is not known.
func (t *contentWords) functionWordsOf(ctx context.Context, view *snapshot.Pinned, question string) []string {
	code, function := t.countWords(ctx, view).functionWords(question)
	if function == nil {
		return nil
	}
	out := []string{}
	tells := capitalsTell(question)
	end := 0
	for _, written := range strings.Fields(question) {
		at := end + strings.Index(question[end:], written)
		end = at + len(written)
		word := bareWord(written)
		at += strings.Index(written, word)
		opens := len(out) == 0 && strings.TrimSpace(question[:at]) == "" && languages.Opens(code, word)
		if !function.Has(word) && !opens || tells && named(question, at, at+len(word)) {
			continue
		}
		for _, part := range wordsIn(word) { // of what's, what and s
			if !slices.Contains(out, part.lower) {
				out = append(out, part.lower)
			}
		}
	}
	return out
}

// namesIn returns how to recognise names in the language of the question, among the languages of the collection.
// Capital letters mark no names in German and Luxembourgish, where all nouns have one.
func (t *contentWords) namesIn(ctx context.Context, view *snapshot.Pinned, question string) naming.Language {
	code, function := t.countWords(ctx, view).functionWords(question)
	in := naming.Language{Capitals: code != "de" && code != "lb"}
	if function != nil {
		in.IsFunction = function.Has
	}
	return in
}

// mayCarryNothing reports whether all words of a question but the first, which may be one that only opens it, are
// function words of some language, so that it takes a look at the collection's to tell whether it says anything.
func (t *contentWords) mayCarryNothing(question string) bool {
	t.mu.Lock()
	if t.all == nil {
		t.all = sync.OnceValue(languages.AllFunctionWords)
	}
	all := t.all
	t.mu.Unlock()
	words := strings.Fields(question)
	return len(words) > 1 && !slices.ContainsFunc(words[1:], func(word string) bool {
		bare := bareWord(word)
		return bare != "" && !all().Has(bare)
	})
}

// knownWords are what is known of the words of a view.
type knownWords struct {
	random, all int // passages
	having      map[string]int
	words       storage.WordFrequencies // nil: they are not counted
	languages   []string
	function    map[string]languages.FunctionWords
}

// carries reports whether the word at a place of a text carries something, by the function words of its language; nil:
// they are not known.
func (k *knownWords) carries(text string, start, end int, function languages.FunctionWords) bool {
	word := text[start:end]
	if function != nil && function.Has(word) {
		return capitalsTell(text) && named(text, start, end)
	}
	part := "" // the longest, as of there's
	for other := range strings.FieldsFuncSeq(strings.ToLower(word), notOfWord) {
		if len(other) > len(part) {
			part = other
		}
	}
	passages := k.having[part]
	of := k.random
	if k.words != nil {
		if df, term, err := k.words.Frequency(part); err == nil && term {
			passages = df
			of = k.all
		}
	}
	switch {
	case passages == 0 || of < leastByChance:
		return true
	case function != nil:
		return of < manyPassages || float64(passages) <= commonShare*float64(of)
	}
	return math.Log(float64(of)/float64(passages)) >= leastBits*math.Log(float64(k.all))
}

// named reports whether the word at a place of a text is written as a name: with a capital letter inside a sentence, or
// in capitals alone, as in The Who, IT and US.
func named(text string, start, end int) bool {
	word := text[start:end]
	first, size := utf8.DecodeRuneInString(word)
	if !unicode.IsUpper(first) || size == len(word) {
		return false
	}
	if word == strings.ToUpper(word) {
		return true
	}
	before := strings.Fields(text[:start])
	return len(before) > 0 && !endsSentence(before[len(before)-1])
}

// countWords counts the words of random passages and tells their languages, once for a generation, and again where
// other passages are drawn: in a store that has no generations.
func (t *contentWords) countWords(ctx context.Context, view *snapshot.Pinned) *knownWords {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := &knownWords{all: view.Passages().Len()}
	out.words, _ = view.Words().(storage.WordFrequencies)
	sample := view.Passages().Sample(randomPassages)
	if t.having == nil || t.generation != view.Generation() || !slices.Equal(t.sample, sample) {
		passages, err := view.Passages().Read(ctx, sample)
		if err != nil {
			return out
		}
		t.generation = view.Generation()
		t.sample = slices.Clone(sample)
		t.count(passages)
	}
	out.random, out.having, out.languages, out.function = t.random, t.having, t.languages, t.function
	return out
}

// count counts the words of passages.
func (t *contentWords) count(passages []corpus.Passage) {
	t.random = 0
	t.having = map[string]int{}
	var texts []string
	for i := range passages {
		p := &passages[i]
		if storage.IsDeleted(*p) {
			continue
		}
		t.random++
		texts = append(texts, p.Title+". "+p.Text)
		seen := map[string]bool{}
		for word := range strings.FieldsFuncSeq(strings.ToLower(p.Title+" "+p.Text), notOfWord) {
			if !seen[word] {
				seen[word] = true
				t.having[word]++
			}
		}
	}
	t.languages = languages.Of(texts)
	if len(t.languages) == 0 { // each is too short to tell
		t.languages = languages.Of([]string{strings.Join(texts, "\n")})
	}
	t.function = map[string]languages.FunctionWords{}
	for _, code := range t.languages {
		if words := languages.FunctionWordsOf(code); words != nil {
			t.function[code] = words
		}
	}
}

func notOfWord(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
}
