package learned

import (
	"context"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/reply"
)

// Reader marks the words of passages that answer a question.
type Reader interface {
	// Read returns a ReadResult for each passage, in their order.
	Read(ctx context.Context, question string, passages []corpus.Passage) ([]ReadResult, error)
	// KnownWords is that of a QuestionEncoder.
	KnownWords(text string) (words, whole, unknown int)
}

// ReadResult is the output of a reader for one passage.
type ReadResult struct {
	Select float64 // the logit that the passage answers
	Spans  []Span  // the marked words, the best first
	// Starts and Ends are the logarithms of the sums of exp(logit) over all positions at which an answer may start or
	// end.
	Starts, Ends float64
	Cut          bool // the text is too long: its end was not read
}

// A Span is a run of words of a passage's text, in bytes, and the sum of the logits of its
// start and its end.
type Span struct {
	Start, End int
	Score      float64
}

// LoadedReader is a reader that marks words, or a generator that writes, with its name and calibration.
type LoadedReader struct {
	Reader              // nil: it is a generator
	Generator Generator // nil: it is a reader
	Rewriter  Rewriter  // nil: messages of a conversation are not rewritten
	// Passages and Tokens are how many passages a generator reads and how many tokens it writes if a request does not
	// say; 0: UsuallyFused and UsuallyGenerated.
	Passages, Tokens int
	Name             string // unique among readers
	Languages        Languages
	Info             ReaderInfo
	// Chance computes the probability that a marked answer is right from extract.AnswerSignals; nil: not calibrated.
	// Confidence computes the probability that the first passage answers from extract.ReadSignals, if the gate ranks;
	// nil: the reader does not change the confidence.
	Chance, Confidence Chance
	// Answerability computes the verdict from extract.ReadSignals, with the chance without the reader in the place of
	// the confidence, if the gate ranks; nil: the reader does not change the verdict.
	Answerability *Answerability
	// Ranking is the weight of the gate's scores next to the reader's Select, for the order of passages and of answers
	// (extract.Read.Weigh); 0: the reader changes neither.
	Ranking float64
}

// ReaderInfo describes a loaded reader.
type ReaderInfo struct {
	Name        string         `json:"name"`
	Fingerprint string         `json:"fingerprint"`
	Provider    string         `json:"provider"`
	Precision   string         `json:"precision"`
	MaxTokens   map[string]int `json:"max_tokens"`             // of "question" and "title", and "pair" of all together
	LongestSpan int            `json:"longest_span,omitempty"` // the greatest number of tokens that it marks
	Generates   bool           `json:"generates,omitempty"`    // it writes an answer, and marks none
	Calibrated  bool           `json:"calibrated"`
	// TimeoutMS is how many milliseconds a generator on another machine may write, in addition to the time of the
	// search; 0: the generator runs in this process and has a part of that time.
	TimeoutMS int `json:"timeout_ms,omitempty"`
}

// Reranker scores passages for a question.
type Reranker interface {
	// Score returns a Relevance for each passage, in their order.
	Score(ctx context.Context, question string, passages []corpus.Passage) ([]Relevance, error)
	// KnownWords is that of a QuestionEncoder.
	KnownWords(text string) (words, whole, unknown int)
}

// Relevance is the output of a reranker for one passage.
type Relevance struct {
	Score float64 // a logit: the greater, the better the passage answers
	Cut   bool    // question and passage together are too long: the end was not read
}

// LoadedReranker is a reranker with its name and calibration.
type LoadedReranker struct {
	Reranker
	Name      string // unique among rerankers
	Languages Languages
	Info      RerankerInfo
	// Reads says that the reranker is the reader of the same name, which scores passages by ReadResult.Select. Its scores
	// must not be added twice.
	Reads bool
	// Expect returns how long scoring so many passages will take, by how long it took lately and by what waits; 0: it is
	// not known. It is nil if that is never known.
	Expect func(passages int) time.Duration
	// Weight is the fitted weight of its scores next to the gate's; 0: the ranking is better without it; nil: not
	// fitted, and it is weighed so that its scores vary as much as the gate's.
	Weight *float64
	// Confidence computes the probability that the first passage answers from extract.RerankSignals, if the gate ranks
	// and Weight was fitted; nil: that is estimated (answering.RerankChance).
	Confidence Chance
	// Answerability computes the verdict from extract.RerankSignals, with the chance without the reranker in the place
	// of the confidence, if the gate ranks and Weight was fitted; nil: the reranker does not change the verdict.
	Answerability *Answerability
}

// RerankerInfo describes a loaded reranker.
type RerankerInfo struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"`
	Provider    string `json:"provider"`
	Precision   string `json:"precision"`
	MaxTokens   int    `json:"max_tokens"` // of question and passage together; 0: not known
	// Endpoint says where questions and passages are sent; nil: nowhere.
	Endpoint   *EndpointInfo `json:"endpoint,omitempty"`
	Calibrated bool          `json:"calibrated"`
	// Usual says that nobody configured it: it does not take the place of late interaction for texts that are not stored,
	// and calibrating a collection does not fit it.
	Usual bool `json:"-"`
}

// Generator writes an answer to a question from passages.
type Generator interface {
	// Generate returns a text of at most w.MaxTokens tokens. An error may have a method Advice() string, which returns
	// what users can do about it.
	Generate(ctx context.Context, w WriteRequest) (Generation, error)
}

// WriteRequest is a request to a generator.
type WriteRequest struct {
	Question string
	// Before are the earlier messages of the conversation, to which Question may refer, oldest first.
	Before    []string
	Passages  []corpus.Passage
	MaxTokens int
	// Form is the form of the answer, as OpenAI's response_format; nil: sentences with citations. Text in another form
	// is not compared with the passages.
	Form []byte
	// Each gets the whole text so far, each time it has grown.
	Each func(text string)
	// Sentence gets each complete sentence after it was compared with the passages that it cites, before Each gets more
	// text. A generator that compares nothing does not call it.
	Sentence func(s reply.WrittenSentence)
}

// Generation is the text that a generator wrote.
type Generation struct {
	Text     string
	Complete bool // the model ended the text, rather than MaxTokens
	Tokens   int
	// LogProbability is the logarithm of the tokens' probability, given question and passages; nil: it is not known.
	LogProbability *float64
	// Shares are the shares of the model's attention that each passage has, in their order, with the sum 1; nil: they
	// are not known.
	Shares []float64
	// Sentences are the sentences of Text, compared with the passages; nil: the generator cites no passages.
	Sentences []reply.WrittenSentence
	// Dropped are the sentences that were removed from Text, since no passage supports them.
	Dropped []reply.WrittenSentence
	// Refused says that the model found no answer in the passages.
	Refused bool
	// Cut says for users why the text ends early; "": it does not.
	Cut string
}

// How many tokens a generator writes, and how many passages it reads, if neither a request nor the generator says.
const (
	UsuallyGenerated = 32
	UsuallyFused     = 20
)
