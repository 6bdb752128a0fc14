package search

import (
	"example.org/conclave/search/internal/question"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/sources"
)

// Expert is a way from a question to a ranking: an encoder of questions, and an index with its vectors of the passages.
type Expert = sources.Expert

// ExpertInfo describes a loaded expert.
type ExpertInfo = sources.ExpertInfo

// CalibrationInfo is how an expert's confidence was fitted.
type CalibrationInfo = sources.CalibrationInfo

// ReliabilityBin holds the questions whose confidence lies in one tenth of 0 to 1, as calibration measured them.
type ReliabilityBin = sources.ReliabilityBin

// QuestionEncoder turns a question into a vector.
type QuestionEncoder = sources.QuestionEncoder

// PassageEncoder turns passages into vectors.
type PassageEncoder = sources.PassageEncoder

// Ensemble is MUF's ensemble on top of a question encoder.
type Ensemble = sources.Ensemble

// Head changes the vector that an encoder gives a question, and says how likely the question is of each of its domains.
type Head = sources.Head

// PassageWords is a PassageEncoder of late interaction that names the word of each token.
type PassageWords = sources.PassageWords

// Word is where a passage has a word.
type Word = sources.Word

// Highlight is a word of a passage, or a part of it, that matched the question.
type Highlight = sources.Highlight

// Took holds the milliseconds that each stage of a source took.
type Took = sources.Took

// Chance turns signals of an answer into the calibrated probability that it is right.
type Chance = sources.Chance

// FingerprintRun is the key, in ExpertInfo.Fingerprints, of the fingerprint of an encoder's run.
const FingerprintRun = sources.FingerprintRun

// The kinds of text that Embed takes.
const (
	KindQuestion = sources.KindQuestion
	KindPassage  = sources.KindPassage
)

// The kinds of sources, as answers and ExpertInfo name them.
const (
	KindDense   = sources.KindDense   // one vector a text
	KindLexical = sources.KindLexical // words, or phrases
	KindLate    = sources.KindLate    // a vector for each token
	KindSparse  = sources.KindSparse  // a weight for each of some word pieces
)

// The names of BM25 among the sources, and of BM25 over phrases. No expert may have them.
const (
	WordSource   = sources.WordSource
	PhraseSource = sources.PhraseSource
)

// Statuses of a source in an answer.
const (
	StatusOK         = sources.StatusOK
	StatusFailed     = sources.StatusFailed
	StatusDeadline   = sources.StatusDeadline
	StatusOverloaded = sources.StatusOverloaded
	StatusSkipped    = sources.StatusSkipped // others are more familiar with the question, or no method has a use for it
)

// Stages of a search, as an Observer hears of them.
const (
	StageEncode     = run.StageEncode
	StageHead       = run.StageHead
	StageSearch     = run.StageSearch
	StageConfidence = run.StageConfidence
	StageSources    = run.StageSources
	StageComplete   = run.StageComplete
	StageFuse       = run.StageFuse
	StageRerank     = run.StageRerank
	StageRead       = run.StageRead
	StageFetch      = run.StageFetch
	StageGenerate   = run.StageGenerate
)

// Correction is a misspelt word of a question and what was searched for instead.
type Correction = question.Correction

// Synonyms are words, or several words, that mean the same to a collection.
type Synonyms = question.Synonyms

// Used says which words of a question were searched for by others, too.
type Used = question.Expansion

// Rewriter makes a question that stands alone of the last message of a conversation.
type Rewriter = question.Rewriter

// Typed reads a question as it was typed into a box: words in quotes have to stand in each passage, and words behind a
// minus must not.
func Typed(text string) (asked string, must, mustNot []string) { return question.Typed(text) }
