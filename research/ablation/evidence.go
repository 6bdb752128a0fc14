// Package ablation measures what each source contributes. It answers a collection's
// questions without the source, with out-of-domain experts, with an expert that is
// added after the fit, and by common alternatives to the gate. All answers are
// computed from one pass over the sources.
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

	"example.org/conclave/calibration"
	"example.org/conclave/fusion"
)

// evidence is what the sources found for the questions of several domains, with the options for fitting gates to it.
type evidence struct {
	calibration.Evidence
	gate calibration.GateOptions
}

// choice reports whether the source with a name takes part.
type choice func(name string) bool

// allBut returns the choice of all sources except the named ones.
func allBut(names ...string) choice {
	return func(name string) bool { return !slices.Contains(names, name) }
}

// onlyThese returns the choice of the named sources.
func onlyThese(names ...string) choice {
	return func(name string) bool { return slices.Contains(names, name) }
}

// restrictTo returns the evidence of the chosen sources for the questions of the chosen domains (nil: of all), as if
// the other sources were not there. e stays as it is. It fails if a question's scores do not fit its sources.
func (e *evidence) restrictTo(choose choice, domains func(string) bool) (*evidence, error) {
	out := &evidence{gate: e.gate}
	for _, name := range e.Sources {
		if choose(name) {
			out.Sources = append(out.Sources, name)
		}
	}
	for _, q := range e.Questions {
		if domains == nil || domains(q.Domain) {
			out.Questions = append(out.Questions, q)
		}
	}
	err := out.eachQuestion(func(i int) error {
		q := &out.Questions[i]
		var columns []int
		var chosen []fusion.ObservedSource
		for _, s := range q.Sources {
			if choose(e.Sources[s.Column]) {
				columns = append(columns, s.Column)
				s.Column = len(chosen)
				chosen = append(chosen, s)
			}
		}
		var err error
		q.Table, err = q.Table.Only(columns)
		if err != nil {
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

// eachQuestion calls do with the index of every question, as many at a time as there are processors, and returns the
// first error once all have ended.
func (e *evidence) eachQuestion(do func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range e.Questions {
		group.Go(func() error { return do(i) })
	}
	return group.Wait()
}

// gates returns a gate for each fold, fitted on the questions of the other folds. It fails if a fit does or ctx ends.
func (e *evidence) gates(ctx context.Context) ([]fusion.Gate, error) {
	return calibration.FoldGates(ctx, e.Questions, e.gate)
}

// answerByGates returns the answers to the questions, each by the gate that was not fitted on its fold. It fails if a
// gate does not fit the sources.
func (e *evidence) answerByGates(gates []fusion.Gate) ([]calibration.MethodAnswer, error) {
	return calibration.AnswerByFold(gates, e.Questions, e.gate.Specialists)
}

// crossFitted returns the answers to the questions, each by a gate fitted on those of the other folds. It takes as
// long as fitting a gate for each fold. It fails if a fit does or ctx ends.
func (e *evidence) crossFitted(ctx context.Context) ([]calibration.MethodAnswer, error) {
	gates, err := e.gates(ctx)
	if err != nil {
		return nil, err
	}
	return e.answerByGates(gates)
}
