package search

import (
	"context"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/internal/spelling"
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

// PartialError is the error beside hits that are not of all passages: the others could
// not be searched. They count, and the answer names their source under Degraded.
type PartialError struct {
	Reason string // for the user
	Err    error
}

func (e *PartialError) Error() string { return e.Reason + ": " + e.Err.Error() }
func (e *PartialError) Unwrap() error { return e.Err }

// VectorIndex holds the passages' vectors of one expert.
type VectorIndex interface {
	// Search returns the k passages with the highest inner products, in
	// rank.Compare's order; exact asks for all of them to be compared. With a
	// *PartialError they are not of all passages.
	Search(ctx context.Context, query []float32, k int, exact bool) ([]rank.Hit, error)
	// Scores writes to out the exact inner products of query with the stored
	// vectors of the passages.
	Scores(ctx context.Context, query []float32, passages []rank.Ordinal, out []float32) error
}

// Expecting is a VectorIndex, on another machine, to which it is said what it will be asked to score
// passages for, before Prefetch names them. The same vector has to be given to Scores.
type Expecting interface {
	Expect(query []float32)
}

// FetchedVectors is a TokenVectors that has to be told before of which passages Vector will be called.
type FetchedVectors interface {
	FetchVectors(ctx context.Context, passages []rank.Ordinal) error
}

// Gathering is Indexes on another machine that send the first searches of several sources together.
type Gathering interface {
	// Gather says that so many sources will search. left has to be called as often: when a source has ended,
	// whether it searched or not.
	Gather(n int) (left func())
}

// PartIndex is a VectorIndex of an expert that has a vector for each part of a passage's
// text. A passage's score is the greatest of its parts'.
type PartIndex interface {
	// Best is the part whose vector has the greatest inner product with query, the
	// first of equals, and that product.
	Best(query []float32, passage rank.Ordinal) (rank.Span, float32, error)
}

// WordIndex is BM25, over words or over phrases: pairs of words that follow each
// other. Only passages that have a term of the question are hits. With a *PartialError
// they are not of all passages.
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

// Passages are the texts. A passage stays valid after the View is released.
type Passages interface {
	// Len is how many there are.
	Len() int
	// Ordinals is one more than the highest ordinal: Len, or more if passages were
	// deleted.
	Ordinals() int
	// Read returns passages in the order of their ordinals in the list. One that was
	// deleted since it was found has its id alone; within a generation of a folder none is.
	Read(ctx context.Context, passages []rank.Ordinal) ([]corpus.Passage, error)
	// Sample is at most n passages that were chosen without a question, the same ones
	// for as long as the generation is, and of the same ids wherever they are stored
	// (corpus.SampleKey). In a store without generations they are of some seconds ago, and
	// some may have been deleted.
	Sample(n int) []rank.Ordinal
	// Size is how many bytes a passage takes, uncompressed, of one that was found. It
	// reads none of its text.
	Size(rank.Ordinal) (int, error)
	// SortByID puts passages in the order of their ids, in place: that is how equal
	// scores rank. The error is that of a damaged store.
	SortByID([]rank.Ordinal) error
	// After is the passages whose ids come after one in the order of their bytes,
	// at most so many; "" is before all.
	After(ctx context.Context, id string, limit int) ([]rank.Ordinal, error)
	// DocumentsAfter is those of them that are the first of their document.
	DocumentsAfter(ctx context.Context, id string, limit int) ([]rank.Ordinal, error)
	// IDs returns the ids of passages that were found.
	IDs([]rank.Ordinal) ([]string, error)
	// Lookup finds passages by their ids, in the order of these. Their Size is known then.
	Lookup(ctx context.Context, ids []string) ([]Found, error)
	// Ordinal finds a passage by its id. The error is that of a damaged store.
	Ordinal(ctx context.Context, id string) (rank.Ordinal, bool, error)
}

// Found is a passage that was looked for by its id.
type Found struct {
	Ordinal rank.Ordinal
	There   bool
}

// deleted reports that Read found no passage any more.
func deleted(p corpus.Passage) bool { return p.Text == "" && p.Title == "" }

// Indexes are what sources search.
type Indexes interface {
	// Vectors is the index of an expert, or false when this generation has none.
	Vectors(expert string) (VectorIndex, bool)
	// Words is BM25, or nil when this generation has none.
	Words() WordIndex
	// Phrases is BM25 over phrases, or nil when this generation has none.
	Phrases() WordIndex
	// Prefetch says of which passages the scores will be asked for next, of every index
	// that was asked or handed out. Indexes on another machine fetch them in one request,
	// for which the question waits; the others do nothing. Those that are gone were deleted
	// since they were found.
	Prefetch(ctx context.Context, passages []rank.Ordinal) (gone []rank.Ordinal, err error)
}

// IndexInfo is what one generation has of an expert.
type IndexInfo struct {
	Kind     string // "hnsw", "flat", "coder", "late"
	Passages int
	Rows     int    // of the index, of deleted passages too
	Parts    bool   // vectors are of parts of passages
	Owner    string // the expert whose vectors these are; "": its own
	// MostExact is how many passages an exact search compares with at most; 0: any number.
	MostExact int
	Recall    map[string]float64 // "recall@10", "recall@100" against exact search, as measured at build
	Warnings  []string           // for the operator
}

// View is one generation of a collection. Its ordinals mean the same passages
// until it is released.
type View interface {
	Indexes
	Generation() uint64
	Passages() Passages
	// Index describes what the generation has of an expert; false: nothing.
	Index(expert string) (IndexInfo, bool)
	// Among is the same indexes, which find only what the filter lets through,
	// and how many passages that is, as soon as that is known. The scores stay what they are without the
	// filter. It is of use until the View is released.
	Among(ctx context.Context, f Filter) (Indexes, func(context.Context) (int, error), error)
	// Release is called once, when nothing uses the view any more.
	Release()
}

// Collected is a View of several collections, of which more than one may have a passage of an id.
type Collected interface {
	// CollectionOf returns the name of the one that a passage is of.
	CollectionOf(passage rank.Ordinal) string
	// LookupIn works as Passages.Lookup does, in one collection by its name.
	LookupIn(ctx context.Context, collection string, ids []string) ([]Found, error)
}

// collectionOf returns the collection of a passage, where several are searched; else "".
func (p *pinned) collectionOf(passage rank.Ordinal) string {
	if several, ok := p.View.(Collected); ok {
		return several.CollectionOf(passage)
	}
	return ""
}

// lookup finds passages by their ids in a collection, as collectionOf names it.
func (p *pinned) lookup(ctx context.Context, collection string, ids []string) ([]Found, error) {
	if several, ok := p.View.(Collected); ok {
		return several.LookupIn(ctx, collection, ids)
	}
	return p.Passages().Lookup(ctx, ids)
}

// Corpus hands out the newest generation.
type Corpus interface{ Acquire() View }

// Vocabulary is what a collection knows of how its words are written. A View may have the
// method Vocabulary() Vocabulary; without it questions are taken as they are typed.
type Vocabulary interface {
	// Look says of each of some words, which are in lower case, what is known of it.
	Look(ctx context.Context, words []string) ([]Spelled, error)
	// Beside says how often words stand beside others.
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

// vocabulary returns the vocabulary of the view, nil where it has none.
func (p *pinned) vocabulary() Vocabulary {
	if v, ok := p.View.(interface{ Vocabulary() Vocabulary }); ok {
		return v.Vocabulary()
	}
	return nil
}
