package sources

import (
	"cmp"
	"context"
	"errors"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// Source scores passages for questions: an expert, BM25 over words or over phrases, or late interaction.
type Source interface {
	// Name returns the name that answers use; it is unique in a line-up.
	Name() string
	// Kind returns reply.KindDense, KindSparse, KindLexical or KindLate.
	Kind() string
	// TakesPart reports whether a method needs the source in a request with a selection. The caller leaves out experts
	// that the request does not search.
	TakesPart(w *Selection, m *fusion.Method) bool
	// isAvailable reports whether a generation has what the source searches. If not, the source is not asked and not
	// named in the answer. A source that every collection must have returns true, and its ask fails if the index is not
	// there.
	isAvailable(in storage.Indexes) bool
	// ask puts the inquiry of p to the source and fills in f. After an error, only f.Took, f.Cut, f.Reason and
	// f.Familiarity are used.
	ask(ctx context.Context, p *Findings, f *Finding) error
	// Observe returns what a gate reads of the source's finding. The caller fills in the column and the confidence.
	Observe(f *Finding, q *Familiarities) fusion.ObservedSource
	// Chance returns the calibrated probability that the source's own first hit answers; nil if it is not calibrated.
	Chance() learned.Chance
}

// Selection says which kinds of sources a request wants.
type Selection struct {
	Words   bool         // BM25
	Late    bool         // late interaction
	Experts bool         // the request searches experts
	Gate    *fusion.Gate // the fitted gate of the line-up; nil: there is none
}

// label has the methods of Source that return the name, the kind and the chance, for embedding in a source.
type label struct {
	called, sort string
	own          learned.Chance
}

// Name returns the source's name.
func (x *label) Name() string { return x.called }

// Kind returns the source's kind, such as reply.KindDense.
func (x *label) Kind() string { return x.sort }

// isAvailable returns true: the source is there in every collection, or its ask fails.
func (x *label) isAvailable(storage.Indexes) bool { return true }

// Chance returns the calibrated probability that the source's own first hit answers; nil: it is not calibrated.
func (x *label) Chance() learned.Chance { return x.own }

// Finding is the result of one source for an inquiry.
type Finding struct {
	Source  Source
	At      int    // index in Panel.Sources
	Status  string // reply.StatusOK and so on
	Reason  string // why the status is not StatusOK, for users
	Cause   error  // the same, for the log
	Took    reply.Took
	Cut     bool                  // only the beginning of the question was read
	Partial *storage.PartialError // why only a part of the passages was searched or counted; nil: all were

	Hits []rank.Hit
	// Score writes to out the scores of any passages for the question, rank.NoVector for one that the source has no
	// vector of; nil: the source did not get so far. A source that follows has no hits of its own: it scores what the
	// others found.
	Score   func(ctx context.Context, passages []rank.Ordinal, out []float32) error
	Follows bool
	// Explain returns the terms that make up a passage's score; nil: the score is not a sum of terms.
	Explain func(ctx context.Context, passage rank.Ordinal) ([]storage.TermScore, error)
	// Highlight returns the words or the part of a passage that gave it its score; nil: the source does not know them.
	Highlight func(passage rank.Ordinal, text corpus.Passage) ([]reply.Highlight, error)
	// FetchVectors has to be called before Highlight, with all passages to be highlighted; nil: nothing is fetched.
	FetchVectors func(ctx context.Context, passages []rank.Ordinal) error
	upperBound   float64 // no score of BM25 over words exceeds it; 0: not known
	symbols      float64 // the share of symbols in the collection's texts (SymbolShare); 0: not read
	// near has the nearness of the hits (nearOfHits), of BM25 over words; nil: it was not computed.
	near ahead
	// Keys are the question's keys; nil: the source does not read them. Only BM25 over words does.
	Keys *Keys
	// WantsRandomScores asks for the scores of random passages too, as a scale for the hits' scores.
	WantsRandomScores bool
	// Sure is the expert's confidence in its own hits; nil: not asked for, or the expert cannot say.
	Sure *certainty
	// Members scores hits by every member of the expert's ensemble; nil: it has none.
	Members func(ctx context.Context, hits []rank.Hit) (scores []float32, members int, err error)

	Familiarity *float64  // of the question to the specialist; nil: not computed, or not a specialist
	gate        []float32 // the probability of each domain of the source's head; nil: it has none
}

// keepPartial returns err, except that a *storage.PartialError becomes nil: the result is usable, and the error is kept
// in f.Partial unless there is one already.
func (f *Finding) keepPartial(err error) error {
	var partial *storage.PartialError
	if errors.As(err, &partial) {
		f.Partial = cmp.Or(f.Partial, partial)
		return nil
	}
	return err
}

// certainty is the agreement of the members of an expert's ensemble on its hits for this question: MUF's confidence
// from 0 to 1, and the mutual information in nats that it is computed from.
type certainty struct{ Confidence, MutualInformation float64 }

// scoredAtOnce is how many passages inParts scores before it checks the deadline again.
const scoredAtOnce = 512

// inParts calls score for scoredAtOnce passages at a time, and stops with ctx's error when ctx ends. out then has the
// scores of the passages before.
func inParts(
	ctx context.Context,
	passages []rank.Ordinal,
	out []float32,
	score func(passages []rank.Ordinal, out []float32) error,
) error {
	for from := 0; from < len(passages); from += scoredAtOnce {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := min(from+scoredAtOnce, len(passages))
		if err := score(passages[from:to], out[from:to]); err != nil {
			return err
		}
	}
	return nil
}
