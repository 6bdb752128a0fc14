package storage

import (
	"context"

	"example.org/conclave/internal/spelling"
)

// Vocabulary is what a collection knows of how its words are written. A View may have the
// method Vocabulary() Vocabulary; without it questions are taken as they are typed.
type Vocabulary interface {
	// Look says of each of some words, which are in lower case, what is known of it.
	Look(ctx context.Context, words []string) ([]Spelled, error)
	// Beside says how often words stand beside others. With a *PartialError words were counted inexactly.
	Beside(ctx context.Context, placed []Placed) ([]Neighbours, error)
}

// Spelled is what a collection knows of a word.
type Spelled struct {
	// Known: passages have the word, in this or in another form, or it is one that is in
	// every text.
	Known bool
	// Near are words of the passages that differ in so many letters as spelling.MostEdits
	// allows a word that is a letter longer, the most frequent first; none where the word is
	// known. Counts are of passages.
	Near []spelling.Candidate
}

// Placed is a word between others.
type Placed struct{ Before, Word, After string }

// Neighbours are the shares, 0 to 1, of the passages with the nearest word before a word, or
// after it, that have the two side by side.
type Neighbours struct{ Before, After float64 }
