package ablation

import (
	"context"
	"slices"

	"example.org/conclave/fusion"
)

// yardstickTrials returns the trials of the gate with the joint expert among its sources, and of common alternatives
// to the gate: RRF and means with the best fixed weight, with and without phrases. It leaves out those whose sources
// the collection lacks.
func (t *trialRun) yardstickTrials() (all []trial) {
	if t.has(t.o.Joint) {
		all = append(
			all, gateAmong(t.whole, "gate with "+t.o.Joint+" among the sources", allBut(), (*Findings).yardsticks),
		)
	}
	words := t.namesOf(fusion.Lexical)
	phrases := t.namesOf(fusion.Phrases)
	specialists := t.specialistNames()
	if len(words) == 0 {
		return all
	}
	with := func(experts ...string) choice { return onlyThese(slices.Concat(words, experts)...) }
	if t.has(t.o.Base) {
		all = append(all, t.rrf(t.o.Base+" and words, RRF", with(t.o.Base)))
		all = append(all, t.fixed(t.o.Base+" and words, best fixed weight", with(t.o.Base)))
	}
	if t.has(t.o.Joint) {
		all = append(all, t.fixed(t.o.Joint+" and words, best fixed weight", with(t.o.Joint)))
	}
	if len(specialists) > 0 {
		all = append(all, t.fixed("mean of specialists and words, best fixed weight", with(specialists...)))
	}
	all = append(
		all,
		t.fixed(
			"mean of all experts and words, best fixed weight",
			allBut(slices.Concat(phrases, t.namesOf(fusion.Near), []string{t.o.Joint})...),
		),
	)
	if len(phrases) == 0 {
		return all
	}
	// What phrases do for the yardsticks, which nobody has today.
	for _, expert := range []string{t.o.Base, t.o.Joint} {
		if t.has(expert) {
			all = append(
				all,
				t.fixed(expert+", words and phrases, best fixed weight", with(slices.Concat(phrases, []string{expert})...)),
			)
		}
	}
	if len(specialists) > 0 {
		all = append(
			all,
			t.fixed("mean of specialists, words and phrases, best fixed weight", with(slices.Concat(phrases, specialists)...)),
		)
	}
	return all
}

// rrf returns the trial of reciprocal rank fusion of the chosen sources, whose row, with this name, is added to the
// yardsticks.
func (t *trialRun) rrf(name string, choose choice) trial {
	return func(_ context.Context, r *Findings) error {
		some, err := t.whole.restrictTo(choose, nil)
		if err != nil {
			return err
		}
		answers, err := some.answerByRRF()
		if err != nil {
			return err
		}
		r.add(&r.Yardsticks, some.row(name, answers))
		return nil
	}
}

// fixed returns the trial of the mean of the chosen experts with the best fixed weight of BM25, whose row, with this
// name and the weight, is added to the yardsticks.
func (t *trialRun) fixed(name string, choose choice) trial {
	return func(ctx context.Context, r *Findings) error {
		some, err := t.whole.restrictTo(choose, nil)
		if err != nil {
			return err
		}
		weight, answers, err := some.answerFixed(ctx)
		if err != nil {
			return err
		}
		row := some.row(name, answers)
		row.Weight = &weight
		r.add(&r.Yardsticks, row)
		return nil
	}
}
