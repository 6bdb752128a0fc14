package storage

import (
	"context"

	"example.org/conclave/internal/rank"
)

// WordIndex is BM25 over words, or over phrases, which are pairs of words that follow each other. With a *PartialError
// only a part of the passages was searched, or words were counted inexactly, so that bounds and rarities are
// approximate.
type WordIndex interface {
	// Search returns the k passages with the highest scores, in rank.Compare's order. Only passages that have a term of
	// the question are hits.
	Search(ctx context.Context, question string, k int) ([]rank.Hit, error)
	// Scores writes to out the score of each passage; 0 if it has no term of the question.
	Scores(ctx context.Context, question string, passages []rank.Ordinal, out []float32) error
	// UpperBound returns a number that no passage's score for the question exceeds; 0 for a question without terms.
	UpperBound(ctx context.Context, question string) (float64, error)
	// Rarities returns, for each text, its distinct terms and how rare they are, also those that no passage has. The
	// terms are the same as those of Explain.
	Rarities(ctx context.Context, texts []string) ([][]Rarity, error)
	// Explain returns the terms that a passage's score is the sum of.
	Explain(ctx context.Context, question string, passage rank.Ordinal) ([]TermScore, error)
}

// NearScorer is optionally implemented by a WordIndex over words.
type NearScorer interface {
	// ExpectNear announces that NearScores will be called with question, so that Indexes.Prefetch fetches what it
	// reads.
	ExpectNear(question string)
	// NearScores writes to out how near the words of a question stand in each passage: the greatest sum of the IDF of
	// distinct terms, in any form, that stand among bm25.NearWindow words in a row of its title and text. It is 0 for a
	// passage without a term of the question.
	NearScores(ctx context.Context, question string, passages []rank.Ordinal, out []float32) error
	// ExplainNear returns the terms that a passage's score of NearScores is the sum of.
	ExplainNear(ctx context.Context, question string, passage rank.Ordinal) ([]TermScore, error)
}

// Holder is optionally implemented by a WordIndex on another machine that knows, after Indexes.Prefetch, which terms a
// passage has.
type Holder interface {
	// Holds returns the terms of the question that a passage has, as Explain does, but with only Term and For set, and
	// without other forms of a term that the passage has itself. Rarities has to be called before.
	Holds(ctx context.Context, question string, passage rank.Ordinal) ([]TermScore, error)
}

// Rarity is a term of a text, and how rare it is in the collection.
type Rarity struct {
	Term         string
	Count        int // how often the text has it
	DocFrequency int // the number of passages that have it
	IDF          float64
	Relative     float64 // IDF divided by that of a term that no passage has
}

// NearTerm returns the TermScore of a term that counts for the nearness of a question's words. idf is what the term
// adds to the score.
func NearTerm(term string, docFrequency int, idf float32) TermScore {
	return TermScore{
		Term: term, Frequency: 1, DocFrequency: docFrequency, IDF: float64(idf), Boost: 1, Score: float64(idf), Near: true,
	}
}

// TermScore is one term of the sum that is a BM25 score. The term of a phrase is two words with a space between.
type TermScore struct {
	Term         string  `json:"term"`
	Frequency    int     `json:"frequency"`     // how often the passage has the term
	DocFrequency int     `json:"doc_frequency"` // the number of passages that have the term
	IDF          float64 `json:"idf"`
	Boost        float64 `json:"boost"` // how often the question has the term
	Score        float64 `json:"score"`
	// For has the terms of the question, separated by spaces, of which Term is another form that the passage has; Score
	// is then what it adds to their scores. "": Term is a term of the question.
	For string `json:"for,omitempty"`
	// Near says that Score is part of the score of nearness, not of BM25's.
	Near bool `json:"near,omitempty"`
}

// WordFrequencies is optionally implemented by a WordIndex.
type WordFrequencies interface {
	// Frequency returns how many passages have a word. term is false if the word is not indexed, such as a function
	// word.
	Frequency(word string) (passages int, term bool, err error)
}
