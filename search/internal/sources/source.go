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

// Source scores passages for questions.
type Source interface {
	// name is unique in a line-up. kind is one of KindDense, KindSparse, KindLexical, KindLate.
	Name() string
	Kind() string
	// TakesPart reports whether the source is asked for a method, by what a request wants. Of the experts, only
	// those that the request searches are asked.
	TakesPart(w *Selection, m *fusion.Method) bool
	// there reports whether a generation has what the source searches. A source without
	// that takes no part. One that every collection has to have reports true, and
	// fails.
	available(in storage.Indexes) bool
	// ask puts the pass's question to the source. With an error, only the times and the
	// reason of the finding are used.
	ask(ctx context.Context, p *Findings, f *Finding) error
	// observe is what a gate reads of the source, without its column and confidence,
	// which the caller fills in.
	Observe(f *Finding, q *Familiarities) fusion.Observed
	// chance is the calibrated chance that the source's own first hit answers; nil
	// where nobody calibrated it.
	Chance() learned.Chance
}

// Selection says which sources a request wants beside its experts.
type Selection struct {
	Words   bool         // BM25
	Late    bool         // late interaction
	Experts bool         // the request searches experts
	Gate    *fusion.Gate // nil: there is none
}

// label is the name, the kind and the chance that every source has.
type label struct {
	called, sort string
	own          learned.Chance
}

func (x *label) Name() string                   { return x.called }
func (x *label) Kind() string                   { return x.sort }
func (x *label) available(storage.Indexes) bool { return true }
func (x *label) Chance() learned.Chance         { return x.own }

// Finding is the result of one source.
type Finding struct {
	Source Source
	At     int // into the line-up's sources
	Status string
	Reason string // for the user, when the status is not ok
	Cause  error  // for the log, likewise
	Took   reply.Took
	Cut    bool                  // only the beginning of the question was read
	Lacks  *storage.PartialError // of hits, or counts of words, that are not of all passages

	Hits []rank.Hit
	// score writes to out the true scores of passages for the question. A source that
	// follows has no hits: it scores what the others found.
	Score   func(ctx context.Context, passages []rank.Ordinal, out []float32) error
	Follows bool
	// explain returns the terms of a passage's score; nil: the source has none.
	Explain func(ctx context.Context, passage rank.Ordinal) ([]storage.TermScore, error)
	// highlight finds the words or the part by which a passage was scored; nil: the source
	// cannot tell.
	Highlight func(passage rank.Ordinal, text corpus.Passage) ([]reply.Highlight, error)
	// FetchVectors is called before that for all passages; nil: nothing has to be fetched.
	FetchVectors func(ctx context.Context, passages []rank.Ordinal) error
	// upperBound is what no score exceeds; 0: not known.
	upperBound float64
	symbols    float64 // how far the collection's texts are symbols, where the gate reads that
	// keys are those of the question; nil: the source does not read them.
	Keys *Keys
	// close: scores are also computed for random passages, as a scale for the hits' scores.
	Close bool
	// sure is how sure the source is of itself; nil: not asked for, or not to be had.
	Sure *certainty
	// members scores hits by every member of the source's ensemble; nil: it has none.
	Members func(ctx context.Context, hits []rank.Hit) (scores []float32, members int, err error)

	Familiarity *float64  // nil: no method asked, or the source has no domain
	gate        []float32 // the probability of each domain of the source's head; nil: it has none
}

// keepPartial takes what came beside hits that are not of all passages, and gives what else
// went wrong.
func (f *Finding) keepPartial(err error) error {
	var partial *storage.PartialError
	if errors.As(err, &partial) {
		f.Lacks = cmp.Or(f.Lacks, partial)
		return nil
	}
	return err
}

// certainty is how certain an expert is of its hits for this question.
type certainty struct{ Confidence, MutualInformation float64 }

// scoredAtOnce is how many passages are scored between two looks at the deadline.
const scoredAtOnce = 512

// inParts scores passages some at a time, so that the deadline is looked at.
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
