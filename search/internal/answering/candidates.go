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

// Candidates are the passages that the sources of a plan found, in a table with a score of each source. They are for
// one goroutine; call Done at the end.
type Candidates struct {
	Rules      *Rules
	Plan       *plan.Plan
	Found      *sources.Findings
	Findings   []sources.Finding       // those of Found that the plan's sources made
	Table      *fusion.Candidates      // one column for each finding
	Known      []float32               // the reference's vector of the question; nil: not needed, or it failed
	Degraded   []reply.Missing         // what could not be asked or read so far
	seen       []fusion.ObservedSource // what Observe returned; nil: it was not called
	idError    error                   // why the ids that decide between equal scores could not be read; nil: they were
	isExcluded func(rank.Ordinal) bool // reports whether the request excludes a passage (withhold); nil: none
	others     []rank.Ordinal          // passages to score that only the other question found (BehindEarlier)
	// random has each finding's scores of random passages (randomSteps); nil: not computed yet.
	random [][]rank.Hit

	texts map[rank.Ordinal]corpus.Passage // what readPassages has read
}

// NewCandidates returns the candidates of a plan by the findings of its sources, which are some of those in found. Rank
// fills in the table. Call Done at the end.
func NewCandidates(r *Rules, by *plan.Plan, found *sources.Findings, findings []sources.Finding) *Candidates {
	return &Candidates{Rules: r, Plan: by, Found: found, Findings: findings, Table: r.Tables.Get().(*fusion.Candidates)}
}

// Rank completes the table of candidates and fuses it by every method of the plan. It fails if ctx ends or a method
// cannot rank.
func (c *Candidates) Rank(ctx context.Context) (*Ranking, error) {
	if err := c.Step(ctx, run.StageComplete, c.Complete); err != nil {
		return nil, err
	}
	if err := c.removeExcluded(ctx); err != nil {
		return nil, err
	}
	r := &Ranking{Candidates: c, Asked: c.Found.Inquiry.Question}
	return r, c.Step(ctx, run.StageFuse, r.fuse)
}

// Done returns the table of candidates to the pool. Neither the candidates nor their ranking or answer may be used
// afterwards.
func (c *Candidates) Done() {
	c.Table.OrderTies(nil) // the view is this request's
	c.Rules.Tables.Put(c.Table)
}

// Step calls do, reports its time as that of a stage if it succeeds, and returns its error. A panic in do becomes an
// error. ctx is passed to do.
func (c *Candidates) Step(ctx context.Context, stage string, do func(context.Context) error) error {
	began := time.Now()
	if err := run.Guard(func() error { return do(ctx) }); err != nil {
		return err
	}
	c.Found.Panel.Run.Report.Stage(ctx, "", stage, time.Since(began))
	return nil
}

// Texts reads the passages of items of a ranking. It returns the items and their passages, in the items' order, without
// those that were deleted since they were found. It fails if the store does or ctx ends.
func (c *Candidates) Texts(
	ctx context.Context,
	items []fusion.Item,
) (found []fusion.Item, passages []corpus.Passage, err error) {
	ordinals := make([]rank.Ordinal, len(items))
	for i, item := range items {
		ordinals[i] = item.Ordinal
	}
	passages, err = c.readPassages(ctx, ordinals)
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

// readPassages returns passages, in the order of their ordinals. Each is read from the store once for these candidates.
// It fails if the store does or ctx ends.
func (c *Candidates) readPassages(ctx context.Context, ordinals []rank.Ordinal) ([]corpus.Passage, error) {
	unread := slices.DeleteFunc(slices.Clone(ordinals), func(o rank.Ordinal) bool {
		_, ok := c.texts[o]
		return ok
	})
	if len(unread) > 0 {
		passages, err := c.Found.View.Passages().Read(ctx, unread)
		if err != nil {
			return nil, err
		}
		if c.texts == nil {
			c.texts = make(map[rank.Ordinal]corpus.Passage, len(passages))
		}
		for i, o := range unread {
			c.texts[o] = passages[i]
		}
	}
	out := make([]corpus.Passage, len(ordinals))
	for i, o := range ordinals {
		out[i] = c.texts[o]
	}
	return out, nil
}
