package encoder

import (
	"context"
	"time"

	"example.org/conclave/encoder/batcher"
)

const (
	// leastMeasured is the smallest run that is measured, in tokens; each next one has twice as many.
	leastMeasured = 512
	// nearlyBest is the share of the best speed that is enough: larger runs only make callers wait longer.
	nearlyBest = 0.9
	// busyRun is the longest time of a run of passages while questions come.
	busyRun = 10 * time.Millisecond
	// measuredTimes is how often a run is measured; the fastest counts.
	measuredTimes = 3
	// measuredQuestion is the usual length of a question, as it is measured.
	measuredQuestion = 16
)

// runTime is how long a run of so many tokens takes.
type runTime struct {
	tokens int
	took   time.Duration
}

// rate returns tokens per second.
func (s runTime) rate() float64 { return float64(s.tokens) / s.took.Seconds() }

// measureSpeeds measures runs of leastMeasured tokens, twice as many, and so on up to limit, and returns them in
// this order. try runs as many tokens and returns how long that takes. It ends where a run fails, for want of
// memory for example, or speed falls. It returns an error only if the first run fails.
func measureSpeeds(limit int, try func(tokens int) (time.Duration, error)) (all []runTime, err error) {
	best := 0.0
	for tokens := min(leastMeasured, limit); tokens <= limit; tokens *= 2 {
		took, err := try(tokens)
		if err != nil {
			if len(all) == 0 {
				return nil, err
			}
			return all, nil
		}
		s := runTime{tokens, max(took, time.Nanosecond)}
		all = append(all, s)
		if s.rate() < nearlyBest*best {
			break
		}
		best = max(best, s.rate())
	}
	return all, nil
}

// smallestFast returns the smallest run with at least nearlyBest of the most tokens per second; the zero value
// without runs. The runs are in ascending order.
func smallestFast(all []runTime) runTime {
	best := 0.0
	for _, s := range all {
		best = max(best, s.rate())
	}
	for _, s := range all {
		if s.rate() >= nearlyBest*best {
			return s
		}
	}
	return runTime{}
}

// largestWithin returns the tokens of the largest run that takes at most longest; those of the smallest run if none
// does. There must be a run; they are in ascending order.
func largestWithin(all []runTime, longest time.Duration) int {
	tokens := all[0].tokens
	for _, s := range all {
		if s.took <= longest {
			tokens = s.tokens
		}
	}
	return tokens
}

// startOf returns what a run costs beyond its tokens, expressed in tokens at the fastest speed, at least 1, by the
// first of the runs. There must be one.
func startOf(all []runTime) int {
	first := all[0]
	return max(1, int(first.took.Seconds()*smallestFast(all).rate())-first.tokens)
}

// measureRuns sets the sizes of runs on a GPU by measuring, up to those that c has, with rows of question and passage
// tokens. That also loads the kernels, so that the first question need not wait for it. If the graph cannot be run, the
// sizes stay as they are, and the first request gets the error.
func measureRuns(c *batcher.Config, question, passage int, infer batcher.Infer) {
	measure := func(lane batcher.Lane, length, limit int) []runTime {
		all, err := measureSpeeds(limit, func(tokens int) (time.Duration, error) {
			rows := make([][]int32, max(1, tokens/length))
			for i := range rows {
				rows[i] = make([]int32, length)
			}
			return fastestRun(func() error {
				_, err := infer(context.Background(), lane, rows)
				return err
			})
		})
		if err != nil {
			return nil
		}
		return all
	}
	if all := measure(batcher.Question, question, c.BatchTokens); all != nil {
		c.BatchTokens = smallestFast(all).tokens
		c.StartTokens = startOf(all)
	}
	if all := measure(batcher.Passage, passage, c.PassageTokens); all != nil {
		c.PassageTokens = smallestFast(all).tokens
		c.BusyTokens = min(largestWithin(all, busyRun), c.PassageTokens)
	}
}

// fastestRun returns the least time of measuredTimes runs, after one that does not count. It fails if one of them does.
func fastestRun(run func() error) (least time.Duration, err error) {
	for i := range measuredTimes + 1 {
		begun := time.Now()
		if err := run(); err != nil {
			return 0, err
		}
		if took := time.Since(begun); i == 1 || i > 1 && took < least {
			least = took
		}
	}
	return least, nil
}
