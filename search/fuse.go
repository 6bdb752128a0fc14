package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/internal/sources"
)

// fuse ranks the candidates by every method.
func (a *answer) fuse(ctx context.Context) error {
	for _, m := range a.plan.methods {
		if err := ctx.Err(); err != nil {
			return err
		}
		in := fusion.Input{Table: a.table}
		if m.WeighsByQuestion() {
			in.Sources = a.Observe(ctx)
			if a.rules.judges() {
				in.Wording, _ = a.found.Panel.Wording(a.found.Inquiry.Question)
				in.Wording.Keys = a.keys(ctx)
			}
		} else {
			in.Sources = slices.DeleteFunc(a.observed(ctx, new(sources.Familiarities), false), func(o fusion.Observed) bool {
				return a.found.Panel.Excluded(a.plan.offer, m.Method, a.findings[o.Column].At) != ""
			})
		}
		k := max(a.plan.k, a.plan.offset+a.plan.answer.Passages, a.plan.reranked)
		if a.plan.groupBy != "" || a.others != nil || a.plan.readsFields() { // any of the candidates may come to be answered
			k = max(k, a.table.Len())
		}
		ranking, err := m.Fuse(in, a.settings(), k)
		if err != nil {
			return fmt.Errorf("fusing by %s: %w", m.Name, err)
		}
		if err := a.surely(ctx, m, in, &ranking, k); err != nil {
			return err
		}
		capByVerdict(&ranking, a.rules.answerability)
		if a.plan.groupBy != "" {
			ranking.Any = nil // it is not known of other passages than the first
		}
		if a.keyless != nil && m.WeighsByQuestion() { // it was read from what nobody knows
			ranking.Confidence, ranking.Any, ranking.Answerable = nil, nil, nil
		}
		a.rankings = append(a.rankings, ranking)
	}
	if a.keyless != nil {
		a.found.Panel.Run.Report.Source(ctx, sources.WordSource, sources.StatusFailed, fmt.Errorf("looking up the question's keys: %w", a.keyless))
	}
	return a.untied
}

// capByVerdict lets no passage be likelier right than the passages searched answer at all, where they do
// not: of a text that asks nothing, such as a letter, the sources' scores may single out a passage all the
// same.
func capByVerdict(r *fusion.Ranking, by *Answerability) {
	if r.Answerable == nil || by == nil || by.Of(*r.Answerable) != VerdictNotFound {
		return
	}
	for _, chance := range []*float64{r.Confidence, r.Any} {
		if chance != nil {
			*chance = min(*chance, *r.Answerable)
		}
	}
}

// settings returns what the line-up and the request decide.
func (a *answer) settings() fusion.Settings {
	d := a.rules
	s := fusion.Settings{
		Missing: a.plan.missing, Normalisation: a.plan.normalise, Alpha: d.alpha,
		Sharpness: cmp.Or(a.plan.sharpness, d.sharpness),
		CCE:       d.cce, Gate: d.gate, GateWithoutLate: d.gateWithoutLate, Specialists: a.plan.inquiry.Most,
		Chances: d.chances, CloseOnly: d.chancesBasis == BasisShipped,
	}
	s.CCE.Sharpness = a.plan.sharpness
	if d.answerability != nil {
		s.Answerable = d.answerability.Chance
	}
	if len(a.plan.weights) > 0 {
		s.Weights = make(map[int]float64, len(a.plan.weights))
		for i := range a.findings {
			if w, ok := a.plan.weights[a.findings[i].Source.Name()]; ok {
				s.Weights[i] = w
			}
		}
	}
	return s
}

// Observe returns what a gate reads of each source that answered. It computes that once
// for a request.
func (a *answer) Observe(ctx context.Context) []fusion.Observed {
	if a.seen == nil {
		a.seen = a.observed(ctx, a.found.Panel.Familiarities(a.known), a.rules.judges())
	}
	return a.seen
}

// observed returns the sources that answered, with random passages' scores if that is said.
// Phrases count beside words alone.
func (a *answer) observed(ctx context.Context, q *sources.Familiarities, random bool) []fusion.Observed {
	all := make([]fusion.Observed, 0, len(a.findings))
	words := false
	for i := range a.findings {
		f := &a.findings[i]
		if f.Status != sources.StatusOK {
			continue
		}
		o := f.Source.Observe(f, q)
		words = words || o.Kind == fusion.Lexical
		if o.Kind == fusion.Phrases && !words {
			continue
		}
		o.Column = i
		o.Confidence = -1
		if f.Sure != nil {
			o.Confidence = f.Sure.Confidence
		}
		if random && f.Close {
			o.Random = f.ScoresOf(ctx, a.kept(a.found.View.Passages().Sample(content.RandomPassages)))
		}
		all = append(all, o)
	}
	return all
}

// encodeReference encodes the question by the reference if a method weighs by familiarity. If that
// fails, every expert counts as a generalist, and a note under Degraded says so.
func (a *answer) encodeReference(ctx context.Context) {
	a.known = a.found.Encoded()
	if a.known != nil || a.found.Panel.Reference == nil || !a.plan.weighsByQuestion() {
		return
	}
	if err := a.found.EncodeNow(ctx, a.found.Panel.Reference); err != nil {
		a.found.Panel.Run.Report.Source(ctx, a.found.Panel.Reference.Name(), sources.StatusFailed, fmt.Errorf("encoding the question for familiarity: %w", err))
		a.degraded = append(a.degraded, Missing{Source: a.found.Panel.Reference.Name(),
			Reason: "it could not encode the question, so how familiar the experts are with it is not known"})
		return
	}
	a.known = a.found.Encoded()
}
