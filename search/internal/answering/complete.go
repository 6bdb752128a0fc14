package answering

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/internal/plan"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/reply"
)

// Complete fills the table of candidates. It lets sources that follow (late interaction) score all candidates, and
// reads the exact scores of passages that a source did not return, if a method uses them. Where a source has no vector
// of a passage, its score is estimated (fusion.Candidates.Estimate). If a source cannot give its
// exact scores, its lowest score stands in for them, and a note under Degraded says so. It fails if ctx ends or the
// store cannot fetch the scores.
func (c *Candidates) Complete(ctx context.Context) error {
	for _, f := range c.Findings {
		if f.Status == reply.StatusOK && f.Partial != nil {
			c.Degraded = append(c.Degraded, reply.Missing{Source: f.Source.Name(), Reason: f.Partial.Reason})
		}
	}
	if err := c.tabulate(); err != nil {
		return err
	}
	exact := c.Plan.Missing == fusion.Exact &&
		slices.ContainsFunc(c.Plan.Methods, func(m plan.Method) bool { return m.Takes(fusion.OptionMissing) })
	if exact ||
		slices.ContainsFunc(
			c.Findings, func(f sources.Finding) bool { return f.Status == reply.StatusOK && f.Follows },
		) {
		deletedSince, err := c.Found.View.Narrowed.Prefetch(ctx, c.Table.Ordinals())
		if err != nil {
			return fmt.Errorf("fetching the scores of %d passages: %w", c.Table.Len(), err)
		}
		if len(deletedSince) > 0 {
			for i := range c.Findings {
				f := &c.Findings[i]
				f.Hits = slices.DeleteFunc(
					f.Hits, func(h rank.Hit) bool { return slices.Contains(deletedSince, h.Ordinal) },
				)
			}
			if err := c.tabulate(); err != nil {
				return err
			}
		}
	}
	columns := c.scoreColumns(ctx, exact)
	for i := range c.Findings {
		f, x := &c.Findings[i], &columns[i]
		switch {
		case !x.asked:
			continue
		case f.Follows:
			if x.err == nil {
				x.err = c.Table.Follow(i, x.scores)
			}
			c.failFollower(ctx, f, x.err)
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if x.err == nil {
			x.err = c.Table.Complete(i, x.scores)
		}
		if x.err != nil {
			c.Found.Panel.Run.Report.Source(
				ctx, f.Source.Name(), reply.StatusFailed, fmt.Errorf("exact scores: %w", x.err),
			)
			c.Degraded = append(c.Degraded, reply.Missing{Source: f.Source.Name(),
				Reason: "its true scores for the others' passages could not be read; its lowest score stands in for them"})
		}
	}
	c.estimate(ctx, columns)
	return nil
}

// estimate estimates the scores of passages that an expert has no vector of, if it was asked for them. columns are the
// results of scoreColumns. It does nothing if all experts have vectors of all candidates.
func (c *Candidates) estimate(ctx context.Context, columns []columnScores) {
	if !slices.ContainsFunc(columns, func(x columnScores) bool { return slices.Contains(x.scores, rank.NoVector) }) {
		return
	}
	sample := c.Found.View.Passages().Sample(content.RandomPassages)
	var scales []fusion.Scale
	for i := range c.Findings {
		f := &c.Findings[i]
		if c.Found.Panel.ExpertOf(f.At) != nil && f.Status == reply.StatusOK && columns[i].err == nil {
			scales = append(scales, fusion.Scale{Column: i, Random: f.ScoresOf(ctx, sample)})
		}
	}
	c.Table.Estimate(scales)
}

// failFollower sets a finding to StatusFailed by the error with which a source that follows could not score the
// candidates, and reports it. It does nothing if the error is nil.
func (c *Candidates) failFollower(ctx context.Context, f *sources.Finding, err error) {
	f.Cause = err
	if err != nil {
		f.Status = reply.StatusFailed
		f.Reason = "it failed; the server's log says why"
		c.Found.Panel.Run.Report.Source(ctx, f.Source.Name(), f.Status, f.Cause)
	}
}

// tabulate fills the table with the hits of all findings and with c.others. Equal scores will be ordered by the
// passages' ids; c.idError is set later if these cannot be read. It fails if a finding's hits are invalid.
func (c *Candidates) tabulate() error {
	lists := make([][]rank.Hit, len(c.Findings))
	for i, f := range c.Findings {
		lists[i] = f.Hits
	}
	if err := c.Table.Reset(lists); err != nil {
		return err
	}
	c.Table.Admit(c.others)
	c.Table.OrderTies(func(passages []rank.Ordinal) {
		if err := c.Found.View.Passages().SortByID(passages); err != nil {
			c.idError = fmt.Errorf("ordering passages with equal scores: %w", err)
		}
	})
	return nil
}
