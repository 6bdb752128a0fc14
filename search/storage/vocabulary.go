package storage

import (
	"context"

	"example.org/conclave/internal/spelling"
)

// Vocabulary knows the spelling of words in a collection. A View may have a method Vocabulary() Vocabulary; without it
// questions are not corrected.
type Vocabulary interface {
	// Look returns, for each word, which is in lower case, whether the collection has it and which of its words are
	// near.
	Look(ctx context.Context, words []string) ([]Spelling, error)
	// Beginning returns the most frequent words of the passages that begin with prefix, which is in lower case, and are
	// longer: at most so many (most), the most frequent first.
	Beginning(ctx context.Context, prefix string, most int) ([]spelling.Candidate, error)
	// NeighbourShares returns, for each word, how often it stands next to its neighbours. With a *PartialError
	// words were counted inexactly.
	NeighbourShares(ctx context.Context, placed []WordInContext) ([]Neighbours, error)
}

// Spelling is what a collection knows of the spelling of a word.
type Spelling struct {
	// Known says that passages have the word, in this or another form, or that it is a function word, which is not
	// indexed.
	Known bool
	// Near are words of the passages within spelling.MostEdits of the word's length plus one, the most frequent first;
	// empty if the word is known. Counts are numbers of passages.
	Near []spelling.Candidate
}

// WordInContext is a word and the texts before and after it in a question.
type WordInContext struct{ Before, Word, After string }

// Neighbours says how often a word stands next to its nearest neighbours in a question. Before is the share, from 0 to
// 1, of the passages with the word before it in which that one is directly before it; After is the same of the word
// after it.
type Neighbours struct{ Before, After float64 }
