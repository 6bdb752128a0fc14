package learned

import (
	"context"

	"example.org/conclave/internal/corpus"
)

// QuestionEncoder turns questions into vectors. Its methods are safe for concurrent use. An error with a method
// Overloaded() bool that returns true means that its queue is full.
type QuestionEncoder interface {
	// EncodeQuestion returns the vector of a question; for a sparse expert, pairs of a word piece and its weight one
	// after the other; for late interaction, the vectors of all tokens one after the other.
	EncodeQuestion(ctx context.Context, text string) ([]float32, error)
	// QuestionTokens returns how many tokens of a question the encoder reads, and whether the question has more.
	QuestionTokens(text string) (read int, cut bool)
	// KnownWords returns how many words a question has, how many of them are whole words of the encoder's vocabulary,
	// and how many it cannot read at all.
	KnownWords(text string) (words, whole, unknown int)
	// Readable returns the factor, from 0 to 1, by which a question's vector is multiplied: below 1 if the encoder can
	// read less than half of the question, 0 if it can read nothing.
	Readable(text string) float64
}

// PassageEncoder turns passages into vectors.
type PassageEncoder interface {
	// EncodePassages returns a vector for each passage, in their order.
	EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error)
	// PassageTokens returns how many tokens of a passage the encoder reads, and whether the passage has more.
	PassageTokens(p corpus.Passage) (read int, cut bool)
}

// Ensemble is a set of small models on top of a question encoder, whose agreement is the confidence by the method MUF.
type Ensemble interface {
	// Members returns, for a question's vector of D numbers, the vectors by each member one after the other:
	// EnsembleMembers() × D numbers.
	Members(ctx context.Context, vector []float32) ([]float32, error)
	// EnsembleMembers returns the number of members.
	EnsembleMembers() int
}

// Head changes the vector that an expert's encoder gives a question, and gives the probability that the question is of
// each of its domains (DESIRE-ME, section 3.2). Experts with other heads, or none, share one run of the encoder.
type Head interface {
	// Apply returns the changed vector of a question, and gate, the probability of each of Domains.
	Apply(ctx context.Context, question []float32) (vector, gate []float32, err error)
	// Domains returns the names of the head's domains.
	Domains() []string
}

// PassageWords is optionally implemented by a PassageEncoder of late interaction.
type PassageWords interface {
	// PassageWords returns the word that each token of a passage is a part of, in the order of the passage's vectors;
	// an empty list if the encoder does not know.
	PassageWords(p corpus.Passage) ([]Word, error)
}

// Word is the place of a word: bytes of a passage's title or of its text.
type Word struct {
	InTitle    bool
	Begin, End int
}

// Chance computes a calibrated probability from signals. What they are depends on what it was fitted for.
type Chance interface {
	// Of returns the probability for signals. It fails if it was fitted for other signals, as their number tells.
	Of(signals []float64) (float64, error)
}
