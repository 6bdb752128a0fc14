package ablation

import (
	"context"
	"fmt"
	"slices"

	"conclave/calibration"
	"conclave/fusion"
)

// without is the gate without one source at a time.
func (t *run) without(ctx context.Context, r *Report) error {
	for _, name := range t.e.Sources {
		row, err := t.gateRow(ctx, "without "+name, t.e.But(name))
		if err != nil {
			return err
		}
		row.against(&r.Yardsticks[0])
		r.Without = append(r.Without, row)
	}
	return nil
}

// familiar is the gate over a few specialists for each question.
func (t *run) familiar(ctx context.Context, r *Report) error {
	for _, n := range familiarCounts(len(t.specialists())) {
		row, err := t.gateRow(ctx, fmt.Sprintf("the %d most familiar", n), Familiar(n))
		if err != nil {
			return err
		}
		row.against(&r.Yardsticks[0])
		r.Familiar = append(r.Familiar, row)
	}
	return nil
}

// familiarCounts are how many specialists to choose among so many.
func familiarCounts(specialists int) []int {
	var out []int
	for _, n := range []int{0, 1, 2, 3, 4} {
		if n < specialists {
			out = append(out, n)
		}
	}
	return out
}

func (t *run) gateRow(ctx context.Context, name string, choose func(q *calibration.GateQuestion) []fusion.Observed) (Row, error) {
	some, err := t.e.Among(choose, nil)
	if err != nil {
		return Row{}, err
	}
	answers, err := some.CrossFitted(ctx)
	if err != nil {
		return Row{}, fmt.Errorf("%s: %w", name, err)
	}
	t.step()
	return some.row(name, answers), nil
}

// foreign adds experts of domains that nobody asks about. The joint expert,
// which knows those domains, takes no part.
func (t *run) foreign(ctx context.Context, r *Report) error {
	if len(t.o.Foreign) == 0 {
		return nil
	}
	asked := func(domain string) bool { return !slices.Contains(t.o.Foreign, domain) }
	f := &Foreign{Experts: t.o.Foreign}
	before, err := t.e.Among(t.e.But(t.o.Foreign...), asked)
	if err != nil {
		return err
	}
	after, err := t.e.Among(t.e.But(), asked)
	if err != nil {
		return err
	}
	if len(before.Questions) == 0 {
		return fmt.Errorf("every question belongs to a domain of %v: there is nobody left to whom these experts are foreign", t.o.Foreign)
	}
	f.Questions = len(before.Questions)
	gates, err := before.Gates(ctx)
	if err != nil {
		return err
	}
	for i, some := range []*Evidence{before, after} {
		name := []string{"without", "with"}[i]
		answers, err := some.Gated(gates)
		if err != nil {
			return err
		}
		f.Gate[i] = some.row(name, answers)
		weight, answers, err := some.Fixed(ctx)
		if err != nil {
			return err
		}
		f.Fixed[i] = some.row(name, answers)
		f.Fixed[i].Weight = &weight
		dense, err := some.Among(func(q *calibration.GateQuestion) []fusion.Observed {
			return slices.DeleteFunc(slices.Clone(q.Sources), func(s fusion.Observed) bool { return s.Kind == fusion.Lexical })
		}, nil)
		if err != nil {
			return err
		}
		if _, answers, err = dense.Fixed(ctx); err != nil {
			return err
		}
		f.Mean[i] = dense.row(name, answers)
		t.step()
	}
	for _, pair := range []*[2]Row{&f.Gate, &f.Fixed, &f.Mean} {
		pair[1].against(&pair[0])
	}
	r.Foreign = f
	return nil
}

// heldOut lets experts join, one at a time. The gate was fitted on the
// questions of the other domains, without the expert; the joint expert, which
// knows its domain, takes no part.
func (t *run) heldOut(ctx context.Context, r *Report) error {
	for _, name := range t.o.HeldOut {
		own := func(domain string) bool { return domain == name }
		others := func(domain string) bool { return domain != name }
		fitted, err := t.e.Among(t.e.But(name), others)
		if err != nil {
			return err
		}
		gates, err := fitted.Gates(ctx)
		if err != nil {
			return fmt.Errorf("holding out %s: %w", name, err)
		}
		h := HeldOut{Expert: name}
		for i, choose := range []func(q *calibration.GateQuestion) []fusion.Observed{t.e.But(name), t.e.But()} {
			for side, domains := range []func(string) bool{own, others} {
				some, err := t.e.Among(choose, domains)
				if err != nil {
					return err
				}
				if len(some.Questions) == 0 {
					return fmt.Errorf("no question belongs to the domain %q", name)
				}
				answers, err := some.Gated(gates)
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
		h.Own[1].against(&h.Own[0])
		h.Others[1].against(&h.Others[0])
		t.step()
		r.HeldOut = append(r.HeldOut, h)
	}
	return nil
}
