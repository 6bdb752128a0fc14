package search

import (
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/internal/place"
	"example.org/conclave/search/internal/plan"
	"example.org/conclave/search/internal/presenting"
)

// AnswerOptions asks for the words that answer the question, which a reader marks in the first passages of the ranking.
// In JSON they are true, false or an object; the zero value asks for nothing.
type AnswerOptions = plan.AnswerOptions

// Answerability turns what is known of an answer into the chance that the collection answers
// the question at all, where half of the questions are about something else, and into a
// verdict.
type Answerability = plan.Answerability

// Boost adds to the score of passages what they are new: Weight times the range of the candidates'
// scores for one of today, half of it for one that is HalfLife old, and nothing for one without a date.
type Boost = plan.Boost

// Citation is a passage that a generated answer cites.
type Citation = answering.Citation

// Contribution says what one source added to a result's score.
type Contribution = answering.Contribution

// DocumentReference names a document.
type DocumentReference = place.DocumentReference

// Extent is where a passage lies in its document's text, in what Request.Offsets counts; nil
// where that is not known.
type Extent = place.Extent

// An Extract is a run of words of a passage that answers the question.
type Extract = answering.Extract

// FacetRequest asks how many passages have each value of a field.
type FacetRequest = plan.FacetRequest

// Generated is an answer in a generator's words.
type Generated = answering.Generated

// Generation is what a generator wrote.
type Generation = plan.Generation

// Generator writes an answer to a question from passages.
type Generator = plan.Generator

// Group is a document that was found, with its best passages. A passage of no document is a
// group by itself.
type Group = presenting.Group

// Judged are the verdict of an answer and the numbers that it was reached by.
type Judged = answering.Judged

// LoadedReader is a Reader or a Generator with its name.
type LoadedReader = plan.LoadedReader

// LoadedReranker is a Reranker with its name.
type LoadedReranker = plan.LoadedReranker

// Missing names a source that was left out of the fusion, and why.
type Missing = plan.Missing

// Place names the document that a passage was cut from, and where in it the passage stands. It
// is empty for a passage of no document.
type Place = place.Place

// Ranking is the fused ranking of one method, when several were asked for.
type Ranking = presenting.Ranking

// Read is what a reader said of passages for a question. It is for measuring.
type Read = answering.Read

// Reader marks the words of passages that answer a question.
type Reader = plan.Reader

// ReaderInfo describes a loaded reader.
type ReaderInfo = plan.ReaderInfo

// Reading is what a reader says of one passage.
type Reading = plan.Reading

// Relevance is what a reranker says of one passage.
type Relevance = plan.Relevance

// RerankOptions ask a reranker to score the first passages of the ranking. In JSON they are
// true, false or an object; the zero value leaves it to Defaults.Rerank.
type RerankOptions = plan.RerankOptions

// Reranker scores passages for a question.
type Reranker = plan.Reranker

// RerankerInfo describes a loaded reranker.
type RerankerInfo = plan.RerankerInfo

// Response is the answer to one Request: Results for one fusion method (an
// empty array when nothing was found), Rankings for a list of them. Fusion is
// the method that was used: for "auto", what it stands for.
type Response = presenting.Response

// Result is one passage of a fused ranking. The contributions of its sources
// add up to its score.
type Result = presenting.Result

// Sort puts the candidates that were found in the order of a field of their metadata. Those without
// it come last.
type Sort = plan.Sort

// Source says how one source fared on this question.
type Source = presenting.Source

// A Span is a run of words of a passage's text, in bytes, and the sum of the logits of its
// start and its end.
type Span = plan.Span

// Support is a passage that a generated answer attends to, and how much of its
// attention that has, 0 to 1, among the passages that were read.
type Support = answering.Support

// Thresholds are the chances that the collection answers at all from which a verdict is
// VerdictFound, and from which it is VerdictDoubtful; below it is VerdictNotFound.
type Thresholds = plan.Thresholds

// Verdict says whether a collection answers a question.
type Verdict = plan.Verdict

// Writing is what a generator is asked for.
type Writing = plan.Writing

// WrittenSentence is a sentence that a generator wrote, and what the passages say to it.
type WrittenSentence = plan.WrittenSentence

// Where a confidence comes from.
const (
	BasisCalibrated = answering.BasisCalibrated // from questions of this collection
	BasisShipped    = answering.BasisShipped    // from those of other collections
	BasisEnsembles  = answering.BasisEnsembles  // how far the members of the experts' ensembles agree: no probability
)

// The verdicts on whether a collection answers a question.
const (
	VerdictFound    = plan.VerdictFound
	VerdictDoubtful = plan.VerdictDoubtful
	VerdictNotFound = plan.VerdictNotFound
)

// How answers of several passages are combined.
const (
	CombineBest = plan.CombineBest // a passage's best words count for themselves
	CombineSum  = plan.CombineSum  // equal words of several passages count together
)

// What the starts and ends of answers and highlights count.
const (
	OffsetBytes      = place.OffsetBytes      // of UTF-8, as Go and Rust slice
	OffsetCodePoints = place.OffsetCodePoints // as Python slices
	OffsetUTF16      = place.OffsetUTF16      // 16-bit units, as JavaScript, Java and C# slice
)

// The origins of contributions that are no source's, and the names that stand for their sources.
const (
	OriginRead    = answering.OriginRead    // a reader's
	OriginRerank  = answering.OriginRerank  // a reranker's
	OriginEarlier = answering.OriginEarlier // of the messages before the question
	EarlierSource = answering.EarlierSource
	OriginBoost   = presenting.OriginBoost // of a Boost
	BoostSource   = presenting.BoostSource
)

// What a generator reads and writes where a request does not say.
const (
	UsuallyGenerated = plan.UsuallyGenerated // tokens
	UsuallyFused     = plan.UsuallyFused     // passages
)

// ReaderAuto is the reader that stands for both: one that marks, and a generator that writes, as far as there are any.
const ReaderAuto = plan.ReaderAuto

// GroupByDocument is the value of Request.GroupBy.
const GroupByDocument = plan.GroupByDocument

// AnswerSignals names what is known of an answer, in the order of Extract.Signals. Its
// chance is a function of these.
func AnswerSignals() []string { return answering.AnswerSignals() }

// ExtentOf returns the extent of a passage, counted in unit, one of OffsetNames.
func ExtentOf(p *corpus.Passage, unit string) Extent { return place.ExtentOf(p, unit) }

// NormaliseAnswer makes answers comparable as SQuAD's script does (Rajpurkar et al.
// 2016, section 6.1): lower case, without ASCII punctuation and articles, single spaces.
func NormaliseAnswer(text string) string { return answering.NormaliseAnswer(text) }

// OffsetNames lists what Request.Offsets may be.
func OffsetNames() []string { return place.OffsetNames() }

// PlaceOf returns the place of a passage.
func PlaceOf(p *corpus.Passage) Place { return place.PlaceOf(p) }

// ReadSignals names what a reader that has read the first passages says of whether the
// first one answers. The confidence with it is a function of these.
func ReadSignals() []string { return answering.ReadSignals() }

// RerankSignals names what a reranker that has scored the first passages says of whether the one that it and the
// ranking put first answers. The confidence with it is a function of these.
func RerankSignals() []string { return answering.RerankSignals() }

// RerankedSignals returns the RerankSignals of passages in the order of their ranking, by its scores and what a
// reranker said of them, times a weight, with the confidence without the reranker. top is which of them is the first
// by both. There is at least one passage.
func RerankedSignals(scores, said []float64, weight, confidence float64) (top int, signals []float64) {
	return answering.RerankedSignals(scores, said, weight, confidence)
}

// WithConfidence returns ReadSignals with another probability in the place of the confidence.
func WithConfidence(signals []float64, p float64) []float64 {
	return answering.WithConfidence(signals, p)
}
