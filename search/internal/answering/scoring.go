package answering

import (
	"context"
	"fmt"
	"runtime"

	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// columnScores are a source's scores of the candidates that it did not return.
type columnScores struct {
	asked  bool      // the source was to score candidates
	scores []float32 // in the order of fusion.Candidates.Missing
	err    error     // the source failed
}

// scoreColumns returns, for each finding, its source's scores of the candidates that it did not return. It asks sources
// that follow and, with exact, all others that lack a score. Beside that it computes the scores of random passages that
// Observe needs, if the plan's methods read them (c.random). If passages are at hand (storage.AtHand), sources score at
// the same time, in a goroutine for each processor. The table is not changed.
func (c *Candidates) scoreColumns(ctx context.Context, exact bool) []columnScores {
	columns := make([]columnScores, len(c.Findings))
	var following, others []func(context.Context)
	for i := range c.Findings {
		f, x := &c.Findings[i], &columns[i]
		if f.Status != reply.StatusOK || !f.Follows && !exact {
			continue
		}
		passages := c.Table.Missing(i, nil)
		if len(passages) == 0 && !f.Follows {
			continue
		}
		x.asked = true
		x.scores = make([]float32, len(passages))
		if f.Follows {
			following = append(following, func(ctx context.Context) {
				x.err = c.Found.Panel.Run.Stage(ctx, f.Source.Name(), run.StageSearch, &f.Took.Search, func() error {
					return run.Guard(func() error { return f.Score(ctx, passages, x.scores) })
				})
			})
			continue
		}
		others = append(others, func(ctx context.Context) {
			x.err = run.Guard(func() error { return f.Score(ctx, passages, x.scores) })
		})
	}
	// Late interaction and nearness take the longest: they begin first.
	steps := append(append(following, c.randomSteps()...), others...)
	most := 1
	if _, quick := c.Found.View.Passages().(storage.AtHand); quick {
		most = runtime.GOMAXPROCS(0)
	}
	run.Together(ctx, most, steps)
	return columns
}

// randomSteps returns steps that set c.random to the scores of random passages by each source that wants them. There
// are none unless a method of the plan reads these, or if the plan excludes passages, which are not known yet.
func (c *Candidates) randomSteps() (steps []func(context.Context)) {
	if !c.Plan.WeighsByQuestion() || !c.Rules.judgesAnswers() || len(c.Plan.Without) > 0 {
		return nil
	}
	c.random = make([][]rank.Hit, len(c.Findings))
	sample := c.Found.View.Passages().Sample(content.RandomPassages)
	for i := range c.Findings {
		if f := &c.Findings[i]; f.Status == reply.StatusOK && f.WantsRandomScores {
			steps = append(steps, func(ctx context.Context) {
				err := run.Guard(func() error { c.random[i] = f.ScoresOf(ctx, sample); return nil })
				if err != nil {
					c.Found.Panel.Run.Report.Source(
						ctx, f.Source.Name(), reply.StatusFailed, fmt.Errorf("scoring random passages: %w", err),
					)
				}
			})
		}
	}
	return steps
}

// randomScores returns the scores of random passages by the source of the finding at an index (sources.Finding.
// ScoresOf), without passages that the plan excludes.
func (c *Candidates) randomScores(ctx context.Context, i int) []rank.Hit {
	if c.random != nil {
		return c.random[i]
	}
	f := &c.Findings[i]
	return f.ScoresOf(ctx, c.withoutExcluded(c.Found.View.Passages().Sample(content.RandomPassages)))
}
