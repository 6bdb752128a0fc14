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
	"slices"

	"conclave/calibration"
	"conclave/fusion"
)

// Evidence is what the sources found for the questions of several domains.
type Evidence struct {
	// Sources are the names of the tables' columns; nil where the questions were
	// asked of different ones (Familiar).
	Sources []string
	// Domains are those of the questions, one for each.
	Domains   []string
	Questions []calibration.GateQuestion
}

// Choice picks those of a question's sources that take part.
type Choice func(q *calibration.GateQuestion) []fusion.Observed

// Among is the evidence of the chosen sources for questions of the chosen
// domains (nil: of all): what would have been found without the others.
func (e *Evidence) Among(choose Choice, domains func(string) bool) (*Evidence, error) {
	out := &Evidence{}
	var first []int // the columns chosen for the first question
	alike := true
	for i := range e.Questions {
		if domains != nil && !domains(e.Domains[i]) {
			continue
		}
		q := e.Questions[i]
		chosen := choose(&q)
		columns := make([]int, len(chosen))
		for n, s := range chosen {
			columns[n] = s.Column
		}
		if first == nil {
			first = columns
		}
		alike = alike && slices.Equal(columns, first)
		table, err := q.Table.Only(columns)
		if err != nil {
			return nil, fmt.Errorf("question %q: %w", q.ID, err)
		}
		q.Table, q.Sources = table, slices.Clone(chosen)
		for n := range q.Sources {
			q.Sources[n].Column = n
		}
		out.Questions = append(out.Questions, q)
		out.Domains = append(out.Domains, e.Domains[i])
	}
	if alike && e.Sources != nil {
		for _, column := range first {
			out.Sources = append(out.Sources, e.Sources[column])
		}
	}
	return out, nil
}

// But chooses all sources but the named ones.
func (e *Evidence) But(names ...string) Choice {
	return e.choose(func(name string) bool { return !slices.Contains(names, name) })
}

// These chooses the named sources.
func (e *Evidence) These(names ...string) Choice {
	return e.choose(func(name string) bool { return slices.Contains(names, name) })
}

func (e *Evidence) choose(takesPart func(name string) bool) Choice {
	return func(q *calibration.GateQuestion) []fusion.Observed {
		var out []fusion.Observed
		for _, s := range q.Sources {
			if takesPart(e.Sources[s.Column]) {
				out = append(out, s)
			}
		}
		return out
	}
}

// Familiar chooses, for each question by itself, the specialists it is most
// familiar to, at most so many, and every source that is no specialist.
func Familiar(most int) Choice {
	return func(q *calibration.GateQuestion) []fusion.Observed {
		var specialists, out []fusion.Observed
		for _, s := range q.Sources {
			if s.Kind == fusion.Specialist {
				specialists = append(specialists, s)
			}
		}
		slices.SortStableFunc(specialists, func(a, b fusion.Observed) int {
			if a.Familiarity > b.Familiarity {
				return -1
			}
			if a.Familiarity < b.Familiarity {
				return 1
			}
			return 0
		})
		specialists = specialists[:min(most, len(specialists))]
		for _, s := range q.Sources {
			if s.Kind != fusion.Specialist || slices.Contains(specialists, s) {
				out = append(out, s)
			}
		}
		return out
	}
}

// Gates are fitted on the questions, one for each fold, on the other folds.
func (e *Evidence) Gates(ctx context.Context) ([]fusion.Gate, error) {
	return calibration.FoldGates(ctx, e.Questions, calibration.GateOptions{})
}

// Gated answers each question by the gate that has not seen its fold.
func (e *Evidence) Gated(gates []fusion.Gate) ([]calibration.Answered, error) {
	return calibration.AnswerByFold(gates, e.Questions)
}

// CrossFitted answers each question by a gate fitted on those of other folds.
func (e *Evidence) CrossFitted(ctx context.Context) ([]calibration.Answered, error) {
	gates, err := e.Gates(ctx)
	if err != nil {
		return nil, err
	}
	return e.Gated(gates)
}
