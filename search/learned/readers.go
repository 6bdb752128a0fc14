package learned

import (
	"context"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/reply"
)

// Reader marks the words of passages that answer a question.
type Reader interface {
	// Read returns a Reading for each passage, in their order.
	Read(ctx context.Context, question string, passages []corpus.Passage) ([]Reading, error)
	// KnownWords is that of a QuestionEncoder.
	KnownWords(text string) (words, whole, unknown int)
}

// Reading is what a reader says of one passage.
type Reading struct {
	Select float64 // the logit that the passage answers
	Spans  []Span  // the best first
	// Starts and Ends are the logarithms of the sums of exp(logit) over all places
	// where an answer may start and end.
	Starts, Ends float64
	Cut          bool // the end of the text was not read: it is too long
}

// A Span is a run of words of a passage's text, in bytes, and the sum of the logits of its
// start and its end.
type Span struct {
	Start, End int
	Score      float64
}

// LoadedReader is a Reader or a Generator with its name.
type LoadedReader struct {
	Reader    // nil: a generator
	Generator Generator
	Rewriter  Rewriter // nil: messages are asked as they are
	// Passages and Tokens are how many a generator reads and writes where a request does not
	// say; 0: UsuallyFused and UsuallyGenerated.
	Passages, Tokens int
	Name             string // unique among readers
	Info             ReaderInfo
	// Chance is calibrated for this reader; nil: there is no calibration. Confidence
	// turns ReadSignals into the probability that the first passage answers, where the
	// gate ranks; nil: it is what it is without the reader.
	Chance, Confidence Chance
	// Answerability turns ReadSignals, with the chance without the reader in the place of the
	// confidence, into a verdict, where the gate ranks; nil: it is what it is without the reader.
	Answerability *Answerability
	// Ranking is what the gate's scores count beside the reader's selections, for the
	// order of the passages and for the answers: see Read.Weigh. 0: neither knows of the
	// other.
	Ranking float64
}

// ReaderInfo describes a loaded reader.
type ReaderInfo struct {
	Name        string         `json:"name"`
	Fingerprint string         `json:"fingerprint"`
	Provider    string         `json:"provider"`
	Precision   string         `json:"precision"`
	MaxTokens   map[string]int `json:"max_tokens"`             // "question", "title", and of all together "pair"
	LongestSpan int            `json:"longest_span,omitempty"` // of what it marks
	Generates   bool           `json:"generates,omitempty"`    // it writes an answer, and marks none
	Calibrated  bool           `json:"calibrated"`
	// TimeoutMS is how many milliseconds a model behind an interface may write, beside the time of the
	// search; 0: a model of this process, which has a part of that.
	TimeoutMS int `json:"timeout_ms,omitempty"`
}

// Reranker scores passages for a question.
type Reranker interface {
	// Score returns a Relevance for each passage, in their order.
	Score(ctx context.Context, question string, passages []corpus.Passage) ([]Relevance, error)
	// KnownWords is that of a QuestionEncoder.
	KnownWords(text string) (words, whole, unknown int)
}

// Relevance is what a reranker says of one passage.
type Relevance struct {
	Score float64 // a logit, the larger the better the passage answers
	Cut   bool    // question and passage were too long to be read to the end
}

// LoadedReranker is a Reranker with its name.
type LoadedReranker struct {
	Reranker
	Name string // unique among rerankers
	Info RerankerInfo
	// Reads says that it is the reader of this name, which reranks by its selection: then that counts once.
	Reads bool
	// Weight is what its scores count beside the gate's, fitted for it: 0 where the gate is
	// better alone. Nil: nobody fitted it, and both vary equally over the passages.
	Weight *float64
	// Confidence turns RerankSignals into the probability that the first passage answers, where the gate ranks
	// and Weight was fitted; nil: it is estimated (RerankChance).
	Confidence Chance
}

// RerankerInfo describes a loaded reranker.
type RerankerInfo struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"`
	Provider    string `json:"provider"`
	Precision   string `json:"precision"`
	MaxTokens   int    `json:"max_tokens"` // of question and passage together
	Calibrated  bool   `json:"calibrated"`
}

// Generator writes an answer to a question from passages.
type Generator interface {
	// Generate writes at most w.MaxTokens tokens. The error may have a method Advice() string,
	// which says what a caller can do about it.
	Generate(ctx context.Context, w Writing) (Generation, error)
}

// Writing is what a generator is asked for.
type Writing struct {
	Question string
	// Before are the questions of the same person before it, which it may refer to, the last one last.
	Before    []string
	Passages  []corpus.Passage
	MaxTokens int
	// Form is the form of the answer, as OpenAI's response_format; nil: sentences with citations. Text in another form is
	// not compared with the passages.
	Form []byte
	// Each is told the text so far whenever it is longer.
	Each func(text string)
	// Sentence is told each sentence once it is whole and compared with what it cites, before
	// Each is told more than it. A generator that compares nothing does not call it.
	Sentence func(s reply.WrittenSentence)
}

// Generation is what a generator wrote.
type Generation struct {
	Text     string
	Complete bool // the model ended it, not MaxTokens
	Tokens   int
	// LogProbability is that of the tokens, given question and passages; nil: the model does not say.
	LogProbability *float64
	// Shares is how the attention of the answer is spread over the passages, in their
	// order; they add up to 1. nil: the model does not say.
	Shares []float64
	// Sentences are what was written, compared with the passages; nil: it cites none.
	Sentences []reply.WrittenSentence
	// Dropped are the sentences that were left out of Text, since no passage supports them.
	Dropped []reply.WrittenSentence
	// Refused says that the model found no answer in the passages.
	Refused bool
	// Cut says why the text ends early, for people; "": it does not.
	Cut string
}

// What a generator reads and writes where a request does not say.
const (
	UsuallyGenerated = 32 // tokens
	UsuallyFused     = 20 // passages
)
