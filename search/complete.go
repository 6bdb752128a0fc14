package search

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/sources"
)

// answer is a plan on its way from the findings to the response.
type answer struct {
	found    *sources.Findings
	rules    *rules
	plan     *plan
	findings []sources.Finding  // of the plan's sources
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
		if f.Status == sources.StatusOK && f.Lacks != nil {
			a.degraded = append(a.degraded, Missing{Source: f.Source.Name(), Reason: f.Lacks.Reason})
		}
	}
	if err := a.tabulate(); err != nil {
		return err
	}
	exact := a.plan.missing == fusion.Exact &&
		slices.ContainsFunc(a.plan.methods, func(m plannedMethod) bool { return m.Takes(fusion.OptionMissing) })
	if exact ||
		slices.ContainsFunc(
			a.findings,
			func(f sources.Finding) bool { return f.Status == sources.StatusOK && f.Follows },
		) {
		deletedSince, err := a.found.View.Narrowed.Prefetch(ctx, a.table.Ordinals())
		if err != nil {
			return fmt.Errorf("fetching the scores of %d passages: %w", a.table.Len(), err)
		}
		if len(deletedSince) > 0 {
			for i := range a.findings {
				f := &a.findings[i]
				f.Hits = slices.DeleteFunc(
					f.Hits,
					func(h rank.Hit) bool { return slices.Contains(deletedSince, h.Ordinal) },
				)
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
		if f.Status != sources.StatusOK || !f.Follows && !exact {
			continue
		}
		passages = a.table.Missing(i, passages[:0])
		scores = append(scores[:0], make([]float32, len(passages))...)
		if f.Follows {
			a.follow(ctx, i, passages, scores)
			continue
		}
		if len(passages) == 0 {
			continue
		}
		err := run.Guard(func() error {
			if err := f.Score(ctx, passages, scores); err != nil {
				return err
			}
			return a.table.Complete(i, scores)
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			a.found.Panel.Run.Report.Source(
				ctx,
				f.Source.Name(),
				sources.StatusFailed,
				fmt.Errorf("exact scores: %w", err),
			)
			a.degraded = append(a.degraded, Missing{Source: f.Source.Name(),
				Reason: "its true scores for the others' passages could not be read; its lowest score stands in for them"})
		}
	}
	return nil
}

// tabulate makes the table of candidates of what was found.
func (a *answer) tabulate() error {
	lists := make([][]rank.Hit, len(a.findings))
	for i, f := range a.findings {
		lists[i] = f.Hits
	}
	if err := a.table.Reset(lists); err != nil {
		return err
	}
	a.table.Admit(a.others)
	a.table.OrderTies(func(passages []rank.Ordinal) {
		if err := a.found.View.Passages().SortByID(passages); err != nil {
			a.untied = fmt.Errorf("ordering passages with equal scores: %w", err)
		}
	})
	return nil
}

// follow lets a source score all candidates. When it fails, it is left out like one
// that did not answer.
func (a *answer) follow(ctx context.Context, column int, candidates []rank.Ordinal, scores []float32) {
	f := &a.findings[column]
	f.Cause = run.Guard(func() error {
		return a.found.Panel.Run.Stage(ctx, f.Source.Name(), run.StageSearch, &f.Took.Search, func() error {
			if err := f.Score(ctx, candidates, scores); err != nil {
				return err
			}
			return a.table.Follow(column, scores)
		})
	})
	if f.Cause != nil {
		f.Status = sources.StatusFailed
		f.Reason = "it failed; the server's log says why"
		a.found.Panel.Run.Report.Source(ctx, f.Source.Name(), f.Status, f.Cause)
	}
}
