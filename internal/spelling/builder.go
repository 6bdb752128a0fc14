package spelling

import (
	"strings"

	"example.org/conclave/internal/normalise"
)

// mostCounted is the largest number of words that a Builder counts at a time.
const mostCounted = 4 * MostWords

// Builder counts in how many texts each word occurs, in bounded memory: when there are too many words it forgets the
// rarest.
type Builder struct {
	counts map[string]*wordCount
	texts  uint32
}

// wordCount is the count of a word, and the number of the last text that has it.
type wordCount struct{ count, last uint32 }

// NewBuilder returns an empty Builder.
func NewBuilder() *Builder { return &Builder{counts: map[string]*wordCount{}} }

// Add counts the words of one text, given in parts, each word once. Above mostCounted words it forgets the rarest,
// whose counts then begin at 0 again.
func (b *Builder) Add(parts ...string) {
	b.texts++
	eachWord(parts, func(word string) {
		c := b.counts[word]
		if c == nil {
			c = &wordCount{}
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

// eachWord calls yield with each word of the parts (Words), normalised, in order and with repetitions.
func eachWord(parts []string, yield func(word string)) {
	for _, part := range parts {
		Words(normalise.Words(part), yield)
	}
}

// Distinct returns the words of a text, given in parts, as a Builder counts them: each once, in the order in which they
// occur.
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

// Lexicon returns a Lexicon of the words that were counted, without those that were forgotten. The Builder can be
// used on.
func (b *Builder) Lexicon() *Lexicon {
	counts := make(map[string]uint32, len(b.counts))
	for word, c := range b.counts {
		counts[word] = c.count
	}
	return NewLexicon(counts)
}
