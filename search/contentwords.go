package search

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"

	"example.org/conclave/internal/rank"
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
func matchByChance(index TokenVectors, random []rank.Ordinal, question []float32, dim int) *chanceMatches {
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

// contentWords says which words carry something, by the document frequencies of the
// collection: of all passages for the terms that words are searched by, and of random
// passages for other words.
type contentWords struct {
	mu         sync.Mutex
	generation uint64
	sample     []rank.Ordinal
	random     int            // passages
	having     map[string]int // of these, that have a word
}

// wordFrequencies is a WordIndex that knows how many passages have a word.
type wordFrequencies interface {
	Frequency(word string) (passages int, term bool, err error)
}

// leastBits is the least information of a word that is marked, as a share of that of a
// word that one passage has: -log(df/N) of log(N).
const leastBits = 1. / 3

// filter returns whether a word of a passage in a view is rare enough to carry something. One
// of which nothing is known is.
func (t *contentWords) filter(ctx context.Context, view *pinned) func(word string) bool {
	random, having := t.countWords(ctx, view)
	words := view.Words()
	all := view.Passages().Len()
	known, counts := words.(wordFrequencies)
	return func(word string) bool {
		part := "" // the longest, as of there's
		for other := range strings.FieldsFuncSeq(strings.ToLower(word), notOfWord) {
			if len(other) > len(part) {
				part = other
			}
		}
		passages := having[part]
		of := random
		if counts {
			if df, term, err := known.Frequency(part); err == nil && term {
				passages, of = df, all
			}
		}
		return passages == 0 || of < leastByChance ||
			math.Log(float64(of)/float64(passages)) >= leastBits*math.Log(float64(all))
	}
}

// countWords counts the words of random passages, once for a generation, and again where other
// passages are drawn: in a store that has no generations.
func (t *contentWords) countWords(ctx context.Context, view *pinned) (random int, having map[string]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sample := view.Passages().Sample(randomPassages)
	if t.having != nil && t.generation == view.Generation() && slices.Equal(t.sample, sample) {
		return t.random, t.having
	}
	passages, err := view.Passages().Read(ctx, sample)
	if err != nil {
		return 0, nil
	}
	t.generation = view.Generation()
	t.sample = slices.Clone(sample)
	t.random = 0
	t.having = map[string]int{}
	for _, p := range passages {
		if deleted(p) {
			continue
		}
		t.random++
		seen := map[string]bool{}
		for word := range strings.FieldsFuncSeq(strings.ToLower(p.Title+" "+p.Text), notOfWord) {
			if !seen[word] {
				seen[word] = true
				t.having[word]++
			}
		}
	}
	return t.random, t.having
}

func notOfWord(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
}
