// Package content tells which words of a text carry meaning: not the function words of its language, and not the words
// that many passages of the collection have.
package content

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/languages"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/storage"
)

// Words tells which words of a collection carry meaning. It reads a sample of the passages for that, once for each
// generation. Its methods are safe for concurrent use.
type Words struct {
	mu         sync.Mutex
	generation uint64
	sample     []rank.Ordinal
	random     int                                // the number of sampled passages
	having     map[string]int                     // by word, the number of these that have it
	languages  []string                           // the codes of their languages
	told       map[uint64]string                  // the code of each one's language, by its fingerprint; "": not clear
	function   map[string]languages.FunctionWords // by code; languages without known ones are missing

	all func() languages.FunctionWords // of all languages; nil until they are asked for
}

// leastCounted is the number of passages from which on a word's frequency among them is trusted.
const leastCounted = 8

// leastBits is the least information of a word that carries meaning, in a language whose function words are not known:
// -log(df/N) as a share of log(N), which is the information of a word that one passage of N has.
const leastBits = 1. / 3

// In a language whose function words are known, a word carries no meaning if more than commonShare of the passages have
// it, and there are at least manyPassages.
const (
	manyPassages = 100
	commonShare  = .15
)

// Filter returns a function that reports whether a word of a passage is worth highlighting for a question. field is
// "title" or "text", and the word stands there from byte start to end. A function word of the passage or of the
// question is not worth it, nor is a word that a large share of the passages has. A word of which nothing is known is.
// It may read a sample of passages now, under ctx; if that fails, only the store's counts and the question's words
// decide.
func (t *Words) Filter(
	ctx context.Context,
	view *snapshot.PinnedView,
	question string,
) func(p *corpus.Passage, field string, start, end int) bool {
	known := t.countWords(ctx, view)
	asks := t.FunctionWordsOf(ctx, view, question)
	return func(p *corpus.Passage, field string, start, end int) bool {
		text := FieldOf(p, field)
		if slices.Contains(asks, strings.ToLower(text[start:end])) {
			return false
		}
		_, function := known.functionWords(p.Title + ". " + p.Text)
		return known.carriesMeaning(text, start, end, function)
	}
}

// functionWords returns the code of the language of a text, out of those of the collection, and its function words;
// nil: they are not known.
func (k *knownWords) functionWords(text string) (code string, words languages.FunctionWords) {
	code = languages.Among(text, k.languages)
	return code, k.function[code]
}

// FunctionWordsOf returns the function words of a question in their order, in lower case and each once, and the word
// that opens it if it asks (languages.Opens). A word written as a name, as The Who, is none. It returns nil if the
// function words of the question's language are not known, also because passages could not be read. With nothing to
// return, but known function words, the list is empty and not nil.
func (t *Words) FunctionWordsOf(ctx context.Context, view *snapshot.PinnedView, question string) []string {
	code, function := t.countWords(ctx, view).functionWords(question)
	if function == nil {
		return nil
	}
	out := []string{}
	tells := CapitalsTell(question)
	end := 0
	for _, written := range strings.Fields(question) {
		at := end + strings.Index(question[end:], written)
		end = at + len(written)
		word := BareWord(written)
		at += strings.Index(written, word)
		opens := len(out) == 0 && strings.TrimSpace(question[:at]) == "" && languages.Opens(code, word)
		if !function.Has(word) && !opens || tells && IsNamed(question, at, at+len(word)) {
			continue
		}
		for _, part := range WordsIn(word) { // of what's, what and s
			if !slices.Contains(out, part.Lower) {
				out = append(out, part.Lower)
			}
		}
	}
	return out
}

// LanguageOf returns the code of the language of a question, out of those of the collection, and its function words;
// nil: they are not known.
func (t *Words) LanguageOf(
	ctx context.Context,
	view *snapshot.PinnedView,
	question string,
) (code string, function languages.FunctionWords) {
	return t.countWords(ctx, view).functionWords(question)
}

// Languages returns the codes of the collection's languages, the most frequent first; nil: they are not known.
func (t *Words) Languages(ctx context.Context, view *snapshot.PinnedView) []string {
	return t.countWords(ctx, view).languages
}

// MayCarryNothing reports whether all words of a question after the first are function words of some language. It is
// false for a question of one word. It reads no passages.
func (t *Words) MayCarryNothing(question string) bool {
	t.mu.Lock()
	if t.all == nil {
		t.all = sync.OnceValue(languages.AllFunctionWords)
	}
	all := t.all
	t.mu.Unlock()
	words := strings.Fields(question)
	return len(words) > 1 && !slices.ContainsFunc(words[1:], func(word string) bool {
		bare := BareWord(word)
		return bare != "" && !all().Has(bare)
	})
}

// knownWords are the frequencies and function words that one search works with.
type knownWords struct {
	random, all int                     // the number of passages in the sample and in the view
	having      map[string]int          // by word, the number of sampled passages that have it
	words       storage.WordFrequencies // the frequencies in the whole view; nil: the store does not count them
	languages   []string
	function    map[string]languages.FunctionWords
}

// carriesMeaning reports whether the word from byte start to end of a text says something about its subject: it is
// neither a function word, except as a name such as The Who, nor in a large share of the passages. It is true for a
// word of which nothing is known. function are the function words of the text's language; nil: they are not known, and
// the word has to be rarer.
func (k *knownWords) carriesMeaning(text string, start, end int, function languages.FunctionWords) bool {
	word := text[start:end]
	if function != nil && function.Has(word) {
		return CapitalsTell(text) && IsNamed(text, start, end)
	}
	part := "" // the longest, as of there's
	for other := range strings.FieldsFuncSeq(strings.ToLower(word), notOfWord) {
		if len(other) > len(part) {
			part = other
		}
	}
	passages := k.having[part]
	counted := k.random
	if k.words != nil {
		if df, term, err := k.words.Frequency(part); err == nil && term {
			passages = df
			counted = k.all
		}
	}
	switch {
	case passages == 0 || counted < leastCounted:
		return true
	case function != nil:
		return counted < manyPassages || float64(passages) <= commonShare*float64(counted)
	}
	return math.Log(float64(counted)/float64(passages)) >= leastBits*math.Log(float64(k.all))
}

// countWords returns the frequencies of words in a random sample of passages and the function words of their languages.
// It reads the sample when the generation or the sample has changed since the last call. If it cannot be read, the
// result has no frequencies. Other callers wait for the reading.
func (t *Words) countWords(ctx context.Context, view *snapshot.PinnedView) *knownWords {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := &knownWords{all: view.Passages().Len()}
	out.words, _ = view.Words().(storage.WordFrequencies)
	sample := view.Passages().Sample(RandomPassages)
	if t.having == nil || t.generation != view.Generation() || !slices.Equal(t.sample, sample) {
		passages, err := view.Passages().Read(ctx, sample)
		if err != nil {
			return out
		}
		t.generation = view.Generation()
		t.sample = slices.Clone(sample)
		t.countFrequencies(passages)
	}
	out.random, out.having, out.languages, out.function = t.random, t.having, t.languages, t.function
	return out
}

// countFrequencies sets by the texts of sampled passages how many of them have each word (in lower case), how many were
// counted, the languages that they are in, and the function words of these languages. Deleted passages do not count. A
// passage that was in the sample before has the language that was told then: telling one takes milliseconds.
func (t *Words) countFrequencies(passages []corpus.Passage) {
	t.random = 0
	t.having = map[string]int{}
	before := t.told
	t.told = map[uint64]string{}
	var texts, codes []string
	for i := range passages {
		p := &passages[i]
		if storage.IsDeleted(*p) {
			continue
		}
		t.random++
		texts = append(texts, p.Title+". "+p.Text)
		print := p.Fingerprint()
		code, known := before[print]
		if !known {
			code = languages.OfPassage(p.Title, p.Text)
		}
		t.told[print] = code
		codes = append(codes, code)
		seen := map[string]bool{}
		for word := range strings.FieldsFuncSeq(strings.ToLower(p.Title+" "+p.Text), notOfWord) {
			if !seen[word] {
				seen[word] = true
				t.having[word]++
			}
		}
	}
	t.languages = languages.MostFrequent(codes)
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

// RandomPassages is the size of the random sample of passages that shows which words are frequent, and which scores a
// question has with any passage. The mean of so many scores is known to a tenth of their deviation, for a fraction of a
// millisecond.
const RandomPassages = 128
