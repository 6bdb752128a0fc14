package answering

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// fuse ranks the candidates by every method.
func (a *Answer) fuse(ctx context.Context) error {
	for _, m := range a.Plan.Methods {
		if err := ctx.Err(); err != nil {
			return err
		}
		in := fusion.Input{Table: a.Table}
		if m.WeighsByQuestion() {
			in.Sources = a.Observe(ctx)
			if a.Rules.judges() {
				in.Wording, _ = a.Found.Panel.Wording(a.Found.Inquiry.Question)
				in.Wording.Keys = a.Keys(ctx)
			}
		} else {
			in.Sources = slices.DeleteFunc(a.Observed(ctx, new(sources.Familiarities), false), func(o fusion.Observed) bool {
				return a.Found.Panel.Excluded(a.Plan.Offer, m.Method, a.Findings[o.Column].At) != ""
			})
		}
		k := max(a.Plan.K, a.Plan.Offset+a.Plan.Answer.Passages, a.Plan.Reranked)
		if a.Plan.GroupBy != "" || a.others != nil || a.Plan.ReadsFields() { // any of the candidates may come to be answered
			k = max(k, a.Table.Len())
		}
		ranking, err := m.Fuse(in, a.settings(), k)
		if err != nil {
			return fmt.Errorf("fusing by %s: %w", m.Name, err)
		}
		if err := a.surely(ctx, m, in, &ranking, k); err != nil {
			return err
		}
		CapByVerdict(&ranking, a.Rules.Answerability)
		if a.Plan.GroupBy != "" {
			ranking.Any = nil // it is not known of other passages than the first
		}
		if a.Keyless != nil && m.WeighsByQuestion() { // it was read from what nobody knows
			ranking.Confidence, ranking.Any, ranking.Answerable = nil, nil, nil
		}
		a.Rankings = append(a.Rankings, ranking)
	}
	if a.Keyless != nil {
		a.Found.Panel.Run.Report.Source(ctx, reply.WordSource, reply.StatusFailed, fmt.Errorf("looking up the question's keys: %w", a.Keyless))
	}
	return a.untied
}

// CapByVerdict lowers the confidences of a ranking to its chance that the collection answers, if that means
// VerdictNotFound. It does nothing if the ranking has no such chance or by is nil.
func CapByVerdict(r *fusion.Ranking, by *learned.Answerability) {
	if r.Answerable == nil || by == nil || by.Of(*r.Answerable) != reply.VerdictNotFound {
		return
	}
	for _, chance := range []*float64{r.Confidence, r.Any} {
		if chance != nil {
			*chance = min(*chance, *r.Answerable)
		}
	}
}

// settings returns what the line-up and the request decide.
func (a *Answer) settings() fusion.Settings {
	d := a.Rules
	s := fusion.Settings{
		Missing: a.Plan.Missing, Normalisation: a.Plan.Normalise, Alpha: d.Alpha,
		Sharpness: cmp.Or(a.Plan.Sharpness, d.Sharpness),
		CCE:       d.CCE, Gate: d.Gate, GateWithoutLate: d.GateWithoutLate, Specialists: a.Plan.Inquiry.Most,
		Chances: d.Chances, CloseOnly: d.ChancesBasis == reply.BasisShipped,
	}
	s.CCE.Sharpness = a.Plan.Sharpness
	if d.Answerability != nil {
		s.Answerable = d.Answerability.Chance
	}
	if len(a.Plan.Weights) > 0 {
		s.Weights = make(map[int]float64, len(a.Plan.Weights))
		for i := range a.Findings {
			if w, ok := a.Plan.Weights[a.Findings[i].Source.Name()]; ok {
				s.Weights[i] = w
			}
		}
	}
	return s
}

// Observe returns what the gate reads of each source that answered. It is computed once for an answer.
func (a *Answer) Observe(ctx context.Context) []fusion.Observed {
	if a.seen == nil {
		a.seen = a.Observed(ctx, a.Found.Panel.Familiarities(a.Known), a.Rules.judges())
	}
	return a.seen
}

// Observed returns what methods read of each source that answered; phrases only beside words. random says whether the
// sources' scores of a sample of passages are added.
func (a *Answer) Observed(ctx context.Context, q *sources.Familiarities, random bool) []fusion.Observed {
	all := make([]fusion.Observed, 0, len(a.Findings))
	words := false
	for i := range a.Findings {
		f := &a.Findings[i]
		if f.Status != reply.StatusOK {
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
			o.Random = f.ScoresOf(ctx, a.kept(a.Found.View.Passages().Sample(content.RandomPassages)))
		}
		all = append(all, o)
	}
	return all
}

// EncodeReference encodes the question by the panel's reference if a method weighs by familiarity and no source has
// done so. If that fails, every expert counts as a generalist, and a note under Degraded says so.
func (a *Answer) EncodeReference(ctx context.Context) {
	a.Known = a.Found.Encoded()
	if a.Known != nil || a.Found.Panel.Reference == nil || !a.Plan.WeighsByQuestion() {
		return
	}
	if err := a.Found.EncodeNow(ctx, a.Found.Panel.Reference); err != nil {
		a.Found.Panel.Run.Report.Source(ctx, a.Found.Panel.Reference.Name(), reply.StatusFailed, fmt.Errorf("encoding the question for familiarity: %w", err))
		a.Degraded = append(a.Degraded, reply.Missing{Source: a.Found.Panel.Reference.Name(),
			Reason: "it could not encode the question, so how familiar the experts are with it is not known"})
		return
	}
	a.Known = a.Found.Encoded()
}
