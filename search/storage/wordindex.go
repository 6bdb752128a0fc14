package storage

import (
	"context"

	"example.org/conclave/internal/rank"
)

// WordIndex is BM25, over words or over phrases: pairs of words that follow each
// other. Only passages that have a term of the question are hits. With a *PartialError
// they are not of all passages, or words were counted inexactly: then bounds and rarities are about right.
type WordIndex interface {
	Search(ctx context.Context, question string, k int) ([]rank.Hit, error)
	// Scores writes to out the passages' scores, 0 where no term matches.
	Scores(ctx context.Context, question string, passages []rank.Ordinal, out []float32) error
	// UpperBound is a value that the score of no passage exceeds for the question; 0 for a
	// question without terms.
	UpperBound(ctx context.Context, question string) (float64, error)
	// Rarities returns, for each text, its distinct terms, those too that no passage has.
	// They are those that Explain names.
	Rarities(ctx context.Context, texts []string) ([][]Rarity, error)
	// Explain returns the terms of the sum that is the passage's score.
	Explain(ctx context.Context, question string, passage rank.Ordinal) ([]TermScore, error)
}

// Holder is a WordIndex, on another machine, that says by what Prefetch fetched which terms a passage has.
type Holder interface {
	// Holds works as Explain does, with Term and For alone, and without forms of one term that the passage has
	// itself, after Rarities was asked.
	Holds(ctx context.Context, question string, passage rank.Ordinal) ([]TermScore, error)
}

// Rarity is a term of a text and how rare it is, as a WordIndex says it.
type Rarity struct {
	Term         string
	Count        int // how often the text has it
	DocFrequency int // passages that have it
	IDF          float64
	Relative     float64 // IDF divided by that of a term that no passage has
}

// TermScore is one term of a BM25 sum; a phrase is two, with a space between.
type TermScore struct {
	Term         string  `json:"term"`
	Frequency    int     `json:"frequency"`     // in the passage
	DocFrequency int     `json:"doc_frequency"` // passages that have the term
	IDF          float64 `json:"idf"`
	Boost        float64 `json:"boost"` // how often the question has the term
	Score        float64 `json:"score"`
	// For are the question's terms of which Term is another form that the passage has;
	// Score is what it adds beyond what they do. "": Term is the question's own.
	For string `json:"for,omitempty"`
}

// WordFrequencies is a WordIndex that knows how many passages have a word.
type WordFrequencies interface {
	Frequency(word string) (passages int, term bool, err error)
}
