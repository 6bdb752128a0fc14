// Package ablation finds out what each source is worth: how a collection's
// questions are answered without it, with experts of other domains added, or
// with a domain's own expert only just joined, and by what people use in place
// of the gate. Everything is computed from what the sources found once.
//
// A gate is always cross-fitted: a question is answered by one that was fitted
// on the questions of other folds. A yardstick's fixed weight is the best for
// the very questions that are measured, which favours the yardstick.
package ablation

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"conclave/calibration"
	"conclave/fusion"
)

// Evidence is what the sources found for the questions of several domains.
type Evidence struct {
	// Sources are the names of the tables' columns.
	Sources []string
	// Domains are those of the questions, one for each.
	Domains   []string
	Questions []calibration.GateQuestion
	// Specialists is how many specialists the gate asks, the most familiar with
	// each question. 0: all.
	Specialists int
	// Towards and WithoutLate are the gates that fits are pulled to
	// (calibration.GateOptions); nil: to equal weights.
	Towards, WithoutLate *fusion.Gate
}

// options are what gates are fitted with.
func (e *Evidence) options() calibration.GateOptions {
	return calibration.GateOptions{Specialists: e.Specialists, Towards: e.Towards, WithoutLate: e.WithoutLate}
}

// Choice says of a source by its name whether it takes part.
type Choice func(name string) bool

// But chooses all sources but the named ones.
func But(names ...string) Choice {
	return func(name string) bool { return !slices.Contains(names, name) }
}

// These chooses the named sources.
func These(names ...string) Choice {
	return func(name string) bool { return slices.Contains(names, name) }
}

// Among is the evidence of the chosen sources for questions of the chosen
// domains (nil: of all): what would have been found without the others.
func (e *Evidence) Among(choose Choice, domains func(string) bool) (*Evidence, error) {
	out := &Evidence{Specialists: e.Specialists, Towards: e.Towards, WithoutLate: e.WithoutLate}
	for _, name := range e.Sources {
		if choose(name) {
			out.Sources = append(out.Sources, name)
		}
	}
	for i := range e.Questions {
		if domains == nil || domains(e.Domains[i]) {
			out.Questions = append(out.Questions, e.Questions[i])
			out.Domains = append(out.Domains, e.Domains[i])
		}
	}
	err := out.each(func(i int) error {
		q := &out.Questions[i]
		var columns []int
		var chosen []fusion.Observed
		for _, s := range q.Sources {
			if choose(e.Sources[s.Column]) {
				columns = append(columns, s.Column)
				s.Column = len(chosen)
				chosen = append(chosen, s)
			}
		}
		var err error
		if q.Table, err = q.Table.Only(columns); err != nil {
			return fmt.Errorf("question %q: %w", q.ID, err)
		}
		q.Sources = chosen
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// each calls do for the place of every question, several at a time.
func (e *Evidence) each(do func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range e.Questions {
		group.Go(func() error { return do(i) })
	}
	return group.Wait()
}

// Gates are fitted on the questions, one for each fold, on the other folds.
func (e *Evidence) Gates(ctx context.Context) ([]fusion.Gate, error) {
	return calibration.FoldGates(ctx, e.Questions, e.options())
}

// Gated answers each question by the gate that has not seen its fold.
func (e *Evidence) Gated(gates []fusion.Gate) ([]calibration.Answered, error) {
	return calibration.AnswerByFold(gates, e.Questions, e.Specialists)
}

// CrossFitted answers each question by a gate fitted on those of other folds.
func (e *Evidence) CrossFitted(ctx context.Context) ([]calibration.Answered, error) {
	gates, err := e.Gates(ctx)
	if err != nil {
		return nil, err
	}
	return e.Gated(gates)
}
