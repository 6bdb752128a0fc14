// Package answering makes a ranking and its answer of what the sources found. An Answer goes through these steps:
// complete the candidates, fuse them, rerank, mark the words that answer, write an answer, and judge whether the
// collection answers at all.
package answering

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/plan"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// Answer is a ranking in the making, and what was read in its passages. Its methods are the steps, in the order in
// which search/engine.go calls them. One goroutine uses it; call Done at the end.
type Answer struct {
	Found    *sources.Findings
	Rules    *Rules
	Plan     *plan.Plan
	Findings []sources.Finding  // of the plan's sources
	Table    *fusion.Candidates // one column for each finding
	Rankings []fusion.Ranking   // of each method
	seen     []fusion.Observed  // of the sources that answered, once a gate asks
	Known    []float32          // the question by the reference; nil: nobody asked for it, or it cannot be had
	byReader bool               // the reader said whether there is an answer
	Keyless  error              // what the first passage holds of the question's keys could not be read
	untied   error              // an id could not be read that decides between equal scores
	Degraded []reply.Missing
	ToRead   []fusion.Item                     // what a reader reads
	Extracts []reply.Extract                   // what it marked
	read     []corpus.Passage                  // passages that it read
	Misnamed bool                              // the question names what the first passages do not
	Unread   int                               // passages that it read the beginning of alone
	Notes    []string                          // of a reranker
	Asked    string                            // the question as models that read passages get it
	gone     func(rank.Ordinal) bool           // which passages the request goes without; nil: none
	others   []rank.Ordinal                    // candidates of the same question asked otherwise
	Credits  map[Credited][]reply.Contribution // what is no source's contribution to the rankings
	bytes    int                               // of the response, about
	Room     int                               // that it takes in memory while it is made
}

// New returns an answer of the findings of a plan's sources, without candidates yet. found is what they are a part of.
// Call Done at its end.
func New(r *Rules, by *plan.Plan, found *sources.Findings, findings []sources.Finding) *Answer {
	return &Answer{
		Found:    found,
		Rules:    r,
		Plan:     by,
		Findings: findings,
		Table:    r.Tables.Get().(*fusion.Candidates),
		Asked:    found.Inquiry.Question,
	}
}

// CompleteAndFuse makes the table of candidates and ranks them by every method of the plan. It fails if ctx ends or a
// method cannot rank.
func (a *Answer) CompleteAndFuse(ctx context.Context) error {
	if err := a.Step(ctx, run.StageComplete, a.Complete); err != nil {
		return err
	}
	if err := a.withhold(ctx); err != nil {
		return err
	}
	return a.Step(ctx, run.StageFuse, a.fuse)
}

// Done gives the table of candidates back for other requests. The answer must not be used afterwards.
func (a *Answer) Done() {
	a.Table.OrderTies(nil) // the view is this request's
	a.Rules.Tables.Put(a.Table)
}

// Step runs one step of the answer, turns a panic in it into an error, and reports how long it took if it succeeded.
func (a *Answer) Step(ctx context.Context, stage string, do func(context.Context) error) error {
	began := time.Now()
	if err := run.Guard(func() error { return do(ctx) }); err != nil {
		return err
	}
	a.Found.Panel.Run.Report.Stage(ctx, "", stage, time.Since(began))
	return nil
}

// Texts reads the passages of items of a ranking. It leaves out those that were deleted since they were found, and
// returns the items and the passages that remain, in their order.
func (a *Answer) Texts(
	ctx context.Context,
	items []fusion.Item,
) (found []fusion.Item, passages []corpus.Passage, err error) {
	ordinals := make([]rank.Ordinal, len(items))
	for i, item := range items {
		ordinals[i] = item.Ordinal
	}
	passages, err = a.Found.View.Passages().Read(ctx, ordinals)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the passages: %w", err)
	}
	if !slices.ContainsFunc(passages, storage.IsDeleted) {
		return items, passages, nil
	}
	for i, p := range passages {
		if !storage.IsDeleted(p) {
			found = append(found, items[i])
		}
	}
	return found, slices.DeleteFunc(passages, storage.IsDeleted), nil
}
