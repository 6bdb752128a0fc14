package ablation

import (
	"context"
	"slices"

	"example.org/conclave/fusion"
)

// yardsticks returns common alternatives to the gate, and the gate with the joint
// expert among its sources.
func (t *run) yardsticks() (all []trial) {
	if t.has(t.o.Joint) {
		all = append(all, gateAmong(t.whole, "gate with "+t.o.Joint+" among the sources", but(), (*Findings).yardsticks))
	}
	words := t.named(fusion.Lexical)
	phrases := t.named(fusion.Phrases)
	specialists := t.specialists()
	if len(words) == 0 {
		return all
	}
	with := func(experts ...string) choice { return these(slices.Concat(words, experts)...) }
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
		t.fixed("mean of all experts and words, best fixed weight", but(slices.Concat(phrases, []string{t.o.Joint})...)),
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

func (t *run) rrf(name string, choose choice) trial {
	return func(_ context.Context, r *Findings) error {
		some, err := t.whole.among(choose, nil)
		if err != nil {
			return err
		}
		answers, err := some.rrf()
		if err != nil {
			return err
		}
		r.add(&r.Yardsticks, some.row(name, answers))
		return nil
	}
}

func (t *run) fixed(name string, choose choice) trial {
	return func(ctx context.Context, r *Findings) error {
		some, err := t.whole.among(choose, nil)
		if err != nil {
			return err
		}
		weight, answers, err := some.fixed(ctx)
		if err != nil {
			return err
		}
		row := some.row(name, answers)
		row.Weight = &weight
		r.add(&r.Yardsticks, row)
		return nil
	}
}
