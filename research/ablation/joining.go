package ablation

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/fusion"
)

// foreignTrials returns the trial that adds out-of-domain experts; none if there are none. The joint expert and late
// interaction, which know those domains, take no part.
func (t *trialRun) foreignTrials() []trial {
	if len(t.o.Foreign) == 0 {
		return nil
	}
	return []trial{t.addForeign}
}

// addForeign measures the gate and its alternatives without and with the out-of-domain experts, on the questions of
// other domains, and sets r.Foreign. It fails if there are no such questions.
func (t *trialRun) addForeign(ctx context.Context, r *Findings) error {
	asked := func(domain string) bool { return !slices.Contains(t.o.Foreign, domain) }
	f := &Foreign{Experts: t.o.Foreign}
	late := t.namesOf(fusion.Late)
	before, err := t.e.restrictTo(allBut(slices.Concat(late, t.o.Foreign)...), asked)
	if err != nil {
		return err
	}
	after, err := t.e.restrictTo(allBut(late...), asked)
	if err != nil {
		return err
	}
	if len(before.Questions) == 0 {
		return fmt.Errorf(
			"every question belongs to a domain of %v: there is nobody left to whom these experts are foreign",
			t.o.Foreign,
		)
	}
	f.Questions = len(before.Questions)
	gates, err := before.gates(ctx)
	if err != nil {
		return err
	}
	for i, some := range []*evidence{before, after} {
		name := []string{"without", "with"}[i]
		answers, err := some.answerByGates(gates)
		if err != nil {
			return err
		}
		f.Gate[i] = some.row(name, answers)
		words, err := some.restrictTo(allBut(slices.Concat(t.namesOf(fusion.Phrases), t.namesOf(fusion.Near))...), nil)
		if err != nil {
			return err
		}
		weight, answers, err := words.answerFixed(ctx)
		if err != nil {
			return err
		}
		f.Fixed[i] = words.row(name, answers)
		f.Fixed[i].Weight = &weight
		dense, err := some.restrictTo(
			allBut(slices.Concat(t.namesOf(fusion.Lexical), t.namesOf(fusion.Phrases), t.namesOf(fusion.Near))...), nil,
		)
		if err != nil {
			return err
		}
		_, answers, err = dense.answerFixed(ctx)
		if err != nil {
			return err
		}
		f.Mean[i] = dense.row(name, answers)
	}
	for _, pair := range []*[2]Row{&f.Gate, &f.Fixed, &f.Mean} {
		pair[1].compareTo(&pair[0])
	}
	r.Foreign = f
	return nil
}

// heldOut returns a trial for each of the options' HeldOut experts, which is added to a gate that was fitted without
// it.
func (t *trialRun) heldOut() (all []trial) {
	for _, name := range t.o.HeldOut {
		all = append(all, func(ctx context.Context, r *Findings) error { return t.joinExpert(ctx, r, name) })
	}
	return all
}

// joinExpert measures the gate without and with one expert, and adds the result to r.HeldOut. The gate was fitted on
// the questions of the other domains, without the expert; the joint expert and late interaction, which know its
// domain, take no part. It fails if no question belongs to the expert's domain, a fit does, or ctx ends.
func (t *trialRun) joinExpert(ctx context.Context, r *Findings, name string) error {
	own := func(domain string) bool { return domain == name }
	others := func(domain string) bool { return domain != name }
	late := t.namesOf(fusion.Late)
	without := allBut(append(slices.Clone(late), name)...)
	fitted, err := t.e.restrictTo(without, others)
	if err != nil {
		return err
	}
	gates, err := fitted.gates(ctx)
	if err != nil {
		return fmt.Errorf("holding out %s: %w", name, err)
	}
	h := HeldOut{Expert: name}
	for i, choose := range []choice{without, allBut(late...)} {
		for side, domains := range []func(string) bool{own, others} {
			some, err := t.e.restrictTo(choose, domains)
			if err != nil {
				return err
			}
			if len(some.Questions) == 0 {
				return fmt.Errorf("no question belongs to the domain %q", name)
			}
			answers, err := some.answerByGates(gates)
			if err != nil {
				return fmt.Errorf("holding out %s: %w", name, err)
			}
			row := some.row([]string{"before", "after"}[i], answers)
			if side == 0 {
				h.Own[i] = row
			} else {
				h.Others[i] = row
			}
		}
	}
	h.Own[1].compareTo(&h.Own[0])
	h.Others[1].compareTo(&h.Others[0])
	r.HeldOut = append(r.HeldOut, h)
	return nil
}
