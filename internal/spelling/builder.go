package spelling

import (
	"strings"

	"example.org/conclave/internal/normalise"
)

// mostCounted is how many words a Builder counts at a time.
const mostCounted = 4 * MostWords

// A Builder counts in how many texts each word is, in bounded memory: where there are too
// many words it forgets the rarest.
type Builder struct {
	counts map[string]*counted
	texts  uint32
}

// counted is a word's count, and the last text that had it.
type counted struct{ count, last uint32 }

// NewBuilder returns a Builder that has counted nothing.
func NewBuilder() *Builder { return &Builder{counts: map[string]*counted{}} }

// Add counts the words of a text that has several parts, each word once.
func (b *Builder) Add(parts ...string) {
	b.texts++
	eachWord(parts, func(word string) {
		c := b.counts[word]
		if c == nil {
			c = &counted{}
			b.counts[strings.Clone(word)] = c
		}
		if c.last != b.texts {
			c.count = c.count + 1
			c.last = b.texts
		}
	})
	for rare := uint32(1); len(b.counts) > mostCounted; rare *= 2 {
		for word, c := range b.counts {
			if c.count <= rare {
				delete(b.counts, word)
			}
		}
	}
}

func eachWord(parts []string, yield func(word string)) {
	for _, part := range parts {
		Words(normalise.Words(part), yield)
	}
}

// Distinct returns the words that a Builder counts of a text that has several parts, each once,
// in the order in which they come.
func Distinct(parts ...string) (words []string) {
	seen := map[string]bool{}
	eachWord(parts, func(word string) {
		if !seen[word] {
			seen[word] = true
			words = append(words, word)
		}
	})
	return words
}

// Lexicon returns what was counted.
func (b *Builder) Lexicon() *Lexicon {
	counts := make(map[string]uint32, len(b.counts))
	for word, c := range b.counts {
		counts[word] = c.count
	}
	return NewLexicon(counts)
}
