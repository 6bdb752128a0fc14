package learned

import (
	"context"

	"example.org/conclave/internal/corpus"
)

// QuestionEncoder turns a question into a vector. It is called by many
// searches at once. An error with a method Overloaded() bool that is true
// means that its queue is full.
type QuestionEncoder interface {
	EncodeQuestion(ctx context.Context, text string) ([]float32, error)
	// QuestionTokens is how many tokens are read of a question, and whether there are
	// more.
	QuestionTokens(text string) (read int, cut bool)
	// KnownWords is how many words a question has, how many of them the encoder's
	// vocabulary has whole, and how many it cannot read at all.
	KnownWords(text string) (words, whole, unknown int)
	// Readable is what the vector of a question counts, 0 to 1: less than 1 where the
	// encoder can read less than half of the question, 0 where it reads nothing.
	Readable(text string) float64
}

// PassageEncoder turns passages into vectors, for Embed.
type PassageEncoder interface {
	EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error)
	// PassageTokens is how many tokens are read of a passage, and whether there are
	// more.
	PassageTokens(p corpus.Passage) (read int, cut bool)
}

// Ensemble is MUF's ensemble on top of a question encoder. Members turns a
// question's vector of D numbers into those of the members, one after the
// other: EnsembleMembers() × D numbers.
type Ensemble interface {
	Members(ctx context.Context, vector []float32) ([]float32, error)
	EnsembleMembers() int
}

// Head changes the vector that an expert's encoder gives a question, and says how
// likely the question is of each of its domains (DESIRE-ME, section 3.2). Experts
// with other heads, or none, share the encoder's run.
type Head interface {
	// Apply is the question's vector behind the head and the probability of each of
	// Domains.
	Apply(ctx context.Context, question []float32) (vector, gate []float32, err error)
	Domains() []string
}

// PassageWords is what a PassageEncoder of late interaction can say, too: the word that
// each token of a passage is of, in the order of its vectors; none where it does not know.
type PassageWords interface {
	PassageWords(p corpus.Passage) ([]Word, error)
}

// Word is where a passage has a word: bytes of its title or of its text.
type Word struct {
	InTitle    bool
	Begin, End int
}

// Chance turns what is known of one source's hits (fusion.SourceSignals) into the
// calibrated probability that the first of them answers.
type Chance interface {
	Of(signals []float64) (float64, error)
}
