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

// A long text that asks a question consists mostly of other text: the talk before the question, a log, a letter.
// Its vector would be of the beginning, and its words those of the talk. So each of its sentences and windows is
// searched for, and the sources, the reader and the confidence get the one that the collection answers best.

// A part of a long question is scored by its prior (priorOf), plus weighNear times the highest inner product of its
// vector with a passage's, plus weighSure times the log-odds that its answer is right (docs/evidence/trials.md). Only
// the mostTried best parts by the first two are answered for the third. If the lower quartile of the inner products is
// at least nearThroughout times the highest one, the text is on one topic, and it is asked as a whole.
const (
	weighNear      = 17
	weighSure      = .8
	nearThroughout = .78
	mostTried      = 12
	manyParts      = 4 // a text of so many sentences and lines is searched for its question
	focusAtOnce    = 8 // encodings that run at the same time
	shareOfFocus   = 2 // the request's remaining time is divided by it
)

// Focuser finds the question in texts that are long or have several sentences.
type Focuser struct {
	Panel *sources.Panel
	// Confidence returns the confidence of the answer to a text in the place of the inquiry's question. known is false
	// if there is no such confidence.
	Confidence func(
		ctx context.Context, q *sources.Inquiry, view *snapshot.PinnedView, text string,
	) (confidence float64, known bool)
}

// Focus returns the part of a text that asks something, if an encoder that is asked cannot read the whole text or if it
// has at least manyParts sentences and lines, as a mail has; otherwise the text. It takes at most half of ctx's time.
func (c Focuser) Focus(ctx context.Context, q *sources.Inquiry, view *snapshot.PinnedView, text string) string {
	if !c.tooLong(q, text) && len(partsOf(text, c.fitsEncoders)) < manyParts {
		return text
	}
	within, cancel := Within(ctx)
	defer cancel()
	return c.findQuestion(within, q, view, text)
}

// Within returns a context that ends after half of ctx's remaining time, for work before the sources are asked. The
// caller has to call the function.
func Within(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return context.WithTimeout(ctx, time.Until(end)/shareOfFocus)
	}
	return context.WithCancel(ctx)
}

// Join returns a question with earlier messages before it, separated by spaces: the last ones, as many as all encoders
// can read with the question. It returns "" if not even one fits.
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

// findQuestion returns the part of a text that asks something, or the text itself if it has only one part or is on one
// topic throughout. If the confidence of a part is not known, form, place and nearness alone decide.
func (c Focuser) findQuestion(ctx context.Context, q *sources.Inquiry, view *snapshot.PinnedView, text string) string {
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

// isUniform reports whether at least three quarters of the parts of a text are about as near to a passage as the
// nearest part, so that the text is on one topic. It returns false if all are equally near, which tells nothing. near
// must not be empty.
func isUniform(near []float64) bool {
	sorted := slices.Sorted(slices.Values(near))
	highest := sorted[len(sorted)-1]
	return highest > sorted[0] && sorted[len(sorted)/4] >= nearThroughout*highest
}

// tooLong reports whether one of the encoders that the inquiry asks reads only the beginning of a text.
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

// fitsEncoders reports whether all encoders of the panel can read a text as a question to its end.
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

// nearness returns, for each unit, the highest inner product of its vector with a passage's, as of unit vectors, times
// QuestionEncoder.Readable of the unit. The vectors are the base's, or the first generalist's. It returns zeros if
// there is no such expert or if encoding or searching fails. It narrows view to the inquiry's filter.
func (c Focuser) nearness(ctx context.Context, q *sources.Inquiry, view *snapshot.PinnedView, units []unit) []float64 {
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
					near[i] = x.Encoder.Readable(units[i].Text) * float64(
						hits[0].Score,
					) / float64(max(sources.InnerProduct(vector, vector), math.SmallestNonzeroFloat32))
				}
			}
			return nil
		})
	})
	return near
}
