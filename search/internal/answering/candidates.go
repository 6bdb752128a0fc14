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

// Candidates are the passages that the sources of a plan found, in a table with a score of each source. One goroutine
// uses them; call Done at the end.
type Candidates struct {
	Rules    *Rules
	Plan     *plan.Plan
	Found    *sources.Findings
	Findings []sources.Finding       // of the plan's sources: a part of what was found
	Table    *fusion.Candidates      // one column for each finding
	Known    []float32               // the question by the reference; nil: nobody asked for it, or it cannot be had
	Degraded []reply.Missing         // what could not be asked or read so far
	seen     []fusion.Observed       // of the sources that answered, once a gate asks
	untied   error                   // an id could not be read that decides between equal scores
	gone     func(rank.Ordinal) bool // which passages the request goes without; nil: none
	others   []rank.Ordinal          // candidates of the same question asked otherwise
}

// NewCandidates returns the candidates among the findings of a plan's sources, without a table yet (Rank). found is
// what the findings are a part of. Call Done at their end.
func NewCandidates(r *Rules, by *plan.Plan, found *sources.Findings, findings []sources.Finding) *Candidates {
	return &Candidates{Rules: r, Plan: by, Found: found, Findings: findings, Table: r.Tables.Get().(*fusion.Candidates)}
}

// Rank completes the table of candidates and fuses it by every method of the plan. It fails if ctx ends or a method
// cannot rank.
func (c *Candidates) Rank(ctx context.Context) (*Ranking, error) {
	if err := c.Step(ctx, run.StageComplete, c.Complete); err != nil {
		return nil, err
	}
	if err := c.withhold(ctx); err != nil {
		return nil, err
	}
	r := &Ranking{Candidates: c, Asked: c.Found.Inquiry.Question}
	return r, c.Step(ctx, run.StageFuse, r.fuse)
}

// Done gives the table of candidates back for other requests. Neither the candidates nor a ranking or an answer of them
// may be used afterwards.
func (c *Candidates) Done() {
	c.Table.OrderTies(nil) // the view is this request's
	c.Rules.Tables.Put(c.Table)
}

// Step runs one step of the answer, turns a panic in it into an error, and reports how long it took if it succeeded.
func (c *Candidates) Step(ctx context.Context, stage string, do func(context.Context) error) error {
	began := time.Now()
	if err := run.Guard(func() error { return do(ctx) }); err != nil {
		return err
	}
	c.Found.Panel.Run.Report.Stage(ctx, "", stage, time.Since(began))
	return nil
}

// Texts reads the passages of items of a ranking. It leaves out those that were deleted since they were found, and
// returns the items and the passages that remain, in their order.
func (c *Candidates) Texts(
	ctx context.Context,
	items []fusion.Item,
) (found []fusion.Item, passages []corpus.Passage, err error) {
	ordinals := make([]rank.Ordinal, len(items))
	for i, item := range items {
		ordinals[i] = item.Ordinal
	}
	passages, err = c.Found.View.Passages().Read(ctx, ordinals)
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
