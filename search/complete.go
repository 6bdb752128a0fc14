package search

import (
	"context"
	"fmt"
	"math"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/run"
)

// answer is a plan on its way from the findings to the response.
type answer struct {
	*pass
	plan     *plan
	findings []finding          // of the plan's sources
	table    *fusion.Candidates // one column for each finding
	rankings []fusion.Ranking   // of each method
	seen     []fusion.Observed  // of the sources that answered, once a gate asks
	known    []float32          // the question by the reference; nil: nobody asked for it, or it cannot be had
	byReader bool               // the reader said whether there is an answer
	keyless  error              // what the first passage holds of the question's keys could not be read
	untied   error              // an id could not be read that decides between equal scores
	degraded []Missing
	toRead   []fusion.Item               // what a reader reads
	extracts []Extract                   // what it marked
	read     []corpus.Passage            // passages that it read
	misnamed bool                        // the question names what the first passages do not
	unread   int                         // passages that it read the beginning of alone
	notes    []string                    // of a reranker
	asked    string                      // the question as models that read passages get it
	gone     func(rank.Ordinal) bool     // which passages the request goes without; nil: none
	others   []rank.Ordinal              // candidates of the same question asked otherwise
	credits  map[credited][]Contribution // what is no source's contribution to the rankings
	response Response
	bytes    int // of the response, about
	room     int // that it takes in memory while it is made
}

// complete makes the table of candidates, lets sources that follow score them, and
// fills in the true scores of what a source did not return where a method will use
// them. A source whose true scores cannot be had is completed by its lowest score,
// which the origin of its contributions and a note under Degraded say.
func (a *answer) complete(ctx context.Context) error {
	for _, f := range a.findings {
		if f.status == StatusOK && f.lacks != nil {
			a.degraded = append(a.degraded, Missing{Source: f.source.name(), Reason: f.lacks.Reason})
		}
	}
	if err := a.tabulate(); err != nil {
		return err
	}
	exact := a.plan.missing == fusion.Exact &&
		slices.ContainsFunc(a.plan.methods, func(m plannedMethod) bool { return m.Takes(fusion.OptionMissing) })
	if exact || slices.ContainsFunc(a.findings, func(f finding) bool { return f.status == StatusOK && f.follows }) {
		deletedSince, err := a.view.Narrowed.Prefetch(ctx, a.table.Ordinals())
		if err != nil {
			return fmt.Errorf("fetching the scores of %d passages: %w", a.table.Len(), err)
		}
		if len(deletedSince) > 0 {
			for i := range a.findings {
				f := &a.findings[i]
				f.hits = slices.DeleteFunc(f.hits, func(h rank.Hit) bool { return slices.Contains(deletedSince, h.Ordinal) })
			}
			if err := a.tabulate(); err != nil {
				return err
			}
		}
	}
	var passages []rank.Ordinal
	var scores []float32
	for i := range a.findings {
		f := &a.findings[i]
		if f.status != StatusOK || !f.follows && !exact {
			continue
		}
		passages = a.table.Missing(i, passages[:0])
		scores = append(scores[:0], make([]float32, len(passages))...)
		if f.follows {
			a.follow(ctx, i, passages, scores)
			continue
		}
		if len(passages) == 0 {
			continue
		}
		err := run.Guard(func() error {
			if err := f.score(ctx, passages, scores); err != nil {
				return err
			}
			return a.table.Complete(i, scores)
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			a.observer.Source(ctx, f.source.name(), StatusFailed, fmt.Errorf("exact scores: %w", err))
			a.degraded = append(a.degraded, Missing{Source: f.source.name(),
				Reason: "its true scores for the others' passages could not be read; its lowest score stands in for them"})
		}
	}
	return nil
}

// tabulate makes the table of candidates of what was found.
func (a *answer) tabulate() error {
	lists := make([][]rank.Hit, len(a.findings))
	for i, f := range a.findings {
		lists[i] = f.hits
	}
	if err := a.table.Reset(lists); err != nil {
		return err
	}
	a.table.Admit(a.others)
	a.table.OrderTies(func(passages []rank.Ordinal) {
		if err := a.view.Passages().SortByID(passages); err != nil {
			a.untied = fmt.Errorf("ordering passages with equal scores: %w", err)
		}
	})
	return nil
}

// follow lets a source score all candidates. When it fails, it is left out like one
// that did not answer.
func (a *answer) follow(ctx context.Context, column int, candidates []rank.Ordinal, scores []float32) {
	f := &a.findings[column]
	f.cause = run.Guard(func() error {
		return a.Stage(ctx, f.source.name(), StageSearch, &f.took.Search, func() error {
			if err := f.score(ctx, candidates, scores); err != nil {
				return err
			}
			return a.table.Follow(column, scores)
		})
	})
	if f.cause != nil {
		f.status, f.reason = StatusFailed, "it failed; the server's log says why"
		a.observer.Source(ctx, f.source.name(), f.status, f.cause)
	}
}

// randomPassages is how many passages a question is compared with to see what
// closeness is worth in this collection: the mean of so many scores is known to a
// tenth of their deviation, for a fraction of a millisecond.
const randomPassages = 128

// scoresOf returns what a source scores a sample of the passages, which have nothing to do with
// the question.
func (f *finding) scoresOf(ctx context.Context, sample []rank.Ordinal) []rank.Hit {
	if len(sample) == 0 || f.score == nil {
		return nil
	}
	scores := make([]float32, len(sample))
	if err := f.score(ctx, sample, scores); err != nil {
		return nil
	}
	hits := make([]rank.Hit, 0, len(sample))
	for i, s := range scores {
		if !math.IsNaN(float64(s)) {
			hits = append(hits, rank.Hit{Ordinal: sample[i], Score: s})
		}
	}
	return hits
}
