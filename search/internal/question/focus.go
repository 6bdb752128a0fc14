package question

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/learned"

	"golang.org/x/sync/errgroup"
)

// A question that is longer than the encoders read is mostly something else: the talk
// before it, a log, a letter. Its vector is of the beginning, and its words are those of
// the talk. So each of its sentences and windows is searched for, and the one that asks
// something that the collection has an answer to is what all sources, the reader and the
// confidence get to see.

// What tells a part that is asked from talk beside its prior: the highest inner product of
// its vector with a passage's, and the logarithm of the odds that its answer is right
// (docs/evidence/trials.md). Of the parts that are the likeliest by the first alone, as many as
// mostTried are answered to learn the second. Where even the lower quartile of the parts
// is nearly as near as the nearest, at least by nearThroughout, there is no talk among
// them, and the question is asked as a whole.
const (
	weighNear      = 17
	weighSure      = .8
	nearThroughout = .78
	mostTried      = 12
	manyParts      = 4
	focusAtOnce    = 8 // encodings
	shareOfFocus   = 2 // of a request's time: a half
)

// Focuser finds what is asked in texts that are longer than the encoders read.
type Focuser struct {
	Panel *sources.Panel
	// confidence returns the confidence of the answer that a text has as a question of the inquiry; known is false if
	// there is no such confidence.
	Confidence func(ctx context.Context, q *sources.Inquiry, view *snapshot.Pinned, text string) (sure float64, known bool)
}

// Focus returns what is asked by a text: all of it, or the part that asks of one that is too long for an encoder or has
// at least manyParts sentences and lines, as a mail has.
func (c Focuser) Focus(ctx context.Context, q *sources.Inquiry, view *snapshot.Pinned, text string) string {
	if !c.tooLong(q, text) && len(partsOf(text, c.fitsEncoders)) < manyParts {
		return text
	}
	within, cancel := Within(ctx)
	defer cancel()
	return c.findQuestion(within, q, view, text)
}

// Within returns a context for finding out what is asked: it ends when half of the time is over that ctx has.
func Within(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return context.WithTimeout(ctx, time.Until(end)/shareOfFocus)
	}
	return context.WithCancel(ctx)
}

// Join returns a question behind as many of the messages before it as the encoders read with it, the last one next to
// it; "" if they read none.
func (c Focuser) Join(before []string, question string) string {
	joined := question
	for _, earlier := range slices.Backward(before) {
		longer := earlier + " " + joined
		if !c.fitsEncoders(longer) {
			break
		}
		joined = longer
	}
	if joined == question {
		return ""
	}
	return joined
}

// findQuestion returns the part of a text that is asked: all of one that is on one topic throughout.
func (c Focuser) findQuestion(ctx context.Context, q *sources.Inquiry, view *snapshot.Pinned, text string) string {
	units := unitsOf(text, c.fitsEncoders)
	if len(units) < 2 {
		return text
	}
	near := c.nearness(ctx, q, view, units)
	if isUniform(near) {
		return text
	}
	order := make([]int, len(units))
	for i := range order {
		order[i] = i
	}
	alone := func(i int) float64 { return units[i].prior + weighNear*near[i] }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(alone(b), alone(a)) })
	best := order[0]
	highest := math.Inf(-1)
	for _, i := range order[:min(mostTried, len(order))] {
		sure, known := c.Confidence(ctx, q, view.Separate(), units[i].Text)
		if !known {
			return units[order[0]].Text
		}
		if score := alone(i) + weighSure*run.LogOdds(sure); score > highest {
			best, highest = i, score
		}
	}
	return units[best].Text
}

// isUniform reports whether all parts of a question are about as near to passages, but for
// less than a quarter of them: whether it is on one topic throughout. Where all are equally
// near, that tells nothing.
func isUniform(near []float64) bool {
	sorted := slices.Sorted(slices.Values(near))
	highest := sorted[len(sorted)-1]
	return highest > sorted[0] && sorted[len(sorted)/4] >= nearThroughout*highest
}

// tooLong reports whether an encoder that is asked reads only the beginning of a text.
func (c Focuser) tooLong(q *sources.Inquiry, text string) bool {
	return slices.ContainsFunc(q.Wanted, func(at int) bool {
		x := c.Panel.ExpertOf(at)
		if x == nil {
			return false
		}
		_, cut := x.Encoder.QuestionTokens(text)
		return cut
	})
}

// fitsEncoders reports whether all encoders read a whole text as a question.
func (c Focuser) fitsEncoders(text string) bool {
	for at := range c.Panel.Sources {
		if x := c.Panel.ExpertOf(at); x != nil {
			if _, cut := x.Encoder.QuestionTokens(text); cut {
				return false
			}
		}
	}
	return true
}

// nearness returns the highest inner product of each unit with a passage, by the base or the
// first expert that is no specialist; zeros where there is none or it fails.
func (c Focuser) nearness(ctx context.Context, q *sources.Inquiry, view *snapshot.Pinned, units []unit) []float64 {
	near := make([]float64, len(units))
	x := c.Panel.Generalist
	if c.Panel.Reference != nil {
		x = c.Panel.Reference.Model
	}
	if x == nil || sources.Narrow(ctx, c.Panel.Run, view, q.Filter) != nil {
		return near
	}
	index, ok := view.Separate().Narrowed.Vectors(x.Name)
	if !ok {
		return near
	}
	vectors := make([][]float32, len(units))
	var group errgroup.Group
	group.SetLimit(focusAtOnce)
	for i := range units {
		group.Go(func() error {
			_ = run.Guard(func() (err error) { // one that is not encoded is nowhere near
				vectors[i], err = x.Encoder.EncodeQuestion(ctx, units[i].Text)
				return err
			})
			return nil
		})
	}
	_ = group.Wait() // no part fails
	_ = c.Panel.Run.Compute(ctx, func(ctx context.Context) error {
		return run.Guard(func() error {
			for i, vector := range vectors {
				if vector == nil || learned.CheckVector(vector, x.Info.Dimension) != nil {
					continue
				}
				var hits []rank.Hit
				hits, err := index.Search(ctx, vector, 1, false)
				if err != nil && len(hits) == 0 {
					return fmt.Errorf("searching for a part of the question: %w", err)
				}
				if len(hits) > 0 {
					// As of vectors of unit length, which what is weighed was fitted to.
					near[i] = x.Encoder.Readable(
						units[i].Text,
					) * float64(
						hits[0].Score,
					) / float64(
						max(sources.InnerProduct(vector, vector), math.SmallestNonzeroFloat32),
					)
				}
			}
			return nil
		})
	})
	return near
}
