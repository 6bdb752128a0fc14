package answering

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// fuse ranks the candidates by every method of the plan and appends the results to r.Rankings. A ranking has as many
// passages as the page, the models and the comparison of names need. Confidences are nil if the question's keys could
// not be looked up. It fails if ctx ends, a method cannot rank, or passages or ids cannot be read.
func (r *Ranking) fuse(ctx context.Context) error {
	for _, m := range r.Plan.Methods {
		if err := ctx.Err(); err != nil {
			return err
		}
		in := fusion.Input{Table: r.Table}
		if m.WeighsByQuestion() {
			in.Sources = r.Observe(ctx)
			if r.Rules.judgesAnswers() {
				in.Wording, _ = r.Found.Wording(r.Found.Inquiry.Question)
				in.Wording.Keys = r.Keys(ctx)
			}
		} else {
			known := new(sources.Familiarities)
			if r.Plan.Weighting == fusion.ByFamiliarity {
				known = r.Found.Panel.Familiarities(r.Known)
			}
			observed := r.ObserveWith(ctx, known, false)
			in.Sources = slices.DeleteFunc(observed, func(o fusion.ObservedSource) bool {
				return r.Found.Panel.ExclusionReason(r.Plan.Offer, m.Method, r.Findings[o.Column].At) != ""
			})
		}
		k := max(r.Plan.K, r.Plan.Answer.Passages, r.Plan.Reranked, comparedNames)
		if r.Plan.GroupBy != "" || r.others != nil || r.Plan.ReadsFields() || len(r.Plan.Pins) > 0 {
			// any of the candidates may come to be answered
			k = max(k, r.Table.Len())
		}
		ranking, err := m.Fuse(in, r.settings(), k)
		if err != nil {
			return fmt.Errorf("fusing by %s: %w", m.Name, err)
		}
		if err := r.setConfidenceWithoutRepeats(ctx, m, in, &ranking, k); err != nil {
			return err
		}
		CapByVerdict(&ranking, r.answerability())
		if r.Plan.GroupBy != "" {
			ranking.Any = nil // it is not known of other passages than the first
		}
		if r.Keyless != nil && m.WeighsByQuestion() { // it was read from what nobody knows
			ranking.Confidence, ranking.Any, ranking.Answerable = nil, nil, nil
		}
		r.Rankings = append(r.Rankings, ranking)
	}
	if r.Keyless != nil {
		r.Found.Panel.Run.Report.Source(ctx, reply.WordSource, reply.StatusFailed, fmt.Errorf("looking up the question's keys: %w", r.Keyless))
	}
	return r.idError
}

// CapByVerdict lowers the confidences of a ranking to its chance that the collection answers, if the verdict on that
// chance is VerdictNotFound. It changes nothing if the chance or by is nil. The numbers that r points to are changed in
// place.
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

// settings returns the fusion settings for all methods of the plan: the line-up's calibration, with the request's
// missing, normalisation, sharpness, weighting and weights.
func (c *Candidates) settings() fusion.Settings {
	d := c.Rules
	s := fusion.Settings{
		Missing: c.Plan.Missing, Normalisation: c.Plan.Normalise, Alpha: d.Alpha,
		Sharpness: cmp.Or(c.Plan.Sharpness, d.Sharpness), Weighting: c.Plan.Weighting,
		CCE: d.CCE, Gate: d.Gate, GateWithoutLate: d.GateWithoutLate, Specialists: c.Plan.Inquiry.MostSpecialists,
		Chances: d.Chances, CloseOnly: d.ChancesBasis == reply.BasisShipped || c.isUnfitted(),
	}
	s.CCE.Sharpness = c.Plan.Sharpness
	if d.Answerability != nil {
		s.Answerable = d.Answerability.Chance
	}
	if c.onlyForeign() {
		s.Foreign = true
		if !d.Foreign.Late {
			s.Gate = cmp.Or(d.GateWithoutLate, d.Gate)
		}
		s.Chances = d.Foreign.Chances
		s.Answerable = nil
		if by := c.answerability(); by != nil {
			s.Answerable = by.Chance
		}
	}
	if len(c.Plan.Weights) > 0 {
		s.Weights = make(map[int]float64, len(c.Plan.Weights))
		for i := range c.Findings {
			if w, ok := c.Plan.Weights[c.Findings[i].Source.Name()]; ok {
				s.Weights[i] = w
			}
		}
	}
	return s
}

// Observe returns what the gate reads of each source that answered. It computes that in the first call only.
func (c *Candidates) Observe(ctx context.Context) []fusion.ObservedSource {
	if c.seen == nil {
		c.seen = c.ObserveWith(ctx, c.Found.Panel.Familiarities(c.Known), c.Rules.judgesAnswers())
	}
	return c.seen
}

// ObserveWith returns what methods read of each source that answered, with its column in the table. Phrases and
// nearness are left out if words did not answer. random adds the sources' scores of a random sample of passages. q
// tells how familiar the question is to each expert; its zero value: it is not known. A source without a calibrated
// confidence gets -1.
func (c *Candidates) ObserveWith(ctx context.Context, q *sources.Familiarities, random bool) []fusion.ObservedSource {
	all := make([]fusion.ObservedSource, 0, len(c.Findings))
	words := false
	for i := range c.Findings {
		f := &c.Findings[i]
		if f.Status != reply.StatusOK {
			continue
		}
		o := f.Source.Observe(f, q)
		words = words || o.Kind == fusion.Lexical
		if (o.Kind == fusion.Phrases || o.Kind == fusion.Near) && !words {
			continue
		}
		o.Column = i
		o.Confidence = -1
		if f.Sure != nil {
			o.Confidence = f.Sure.Confidence
		}
		if random && f.WantsRandomScores {
			o.Random = c.randomScores(ctx, i)
		}
		all = append(all, o)
	}
	return all
}

// EncodeReference sets c.Known to the reference's vector of the question, if a method or the plan weighs sources by
// familiarity; it runs the encoder if no source has. If that fails, every expert counts as a generalist, and a note
// under Degraded says so.
func (c *Candidates) EncodeReference(ctx context.Context) {
	c.Known = c.Found.Encoded()
	if c.Found.IsUnread(c.Found.Panel.Reference) {
		return // what it says of the question is nothing
	}
	needed := c.Plan.WeighsByQuestion() || c.Plan.Weighting == fusion.ByFamiliarity
	if c.Known != nil || c.Found.Panel.Reference == nil || !needed {
		return
	}
	if err := c.Found.EncodeNow(ctx, c.Found.Panel.Reference); err != nil {
		c.Found.Panel.Run.Report.Source(ctx, c.Found.Panel.Reference.Name(), reply.StatusFailed, fmt.Errorf("encoding the question for familiarity: %w", err))
		c.Degraded = append(c.Degraded, reply.Missing{Source: c.Found.Panel.Reference.Name(),
			Reason: "it could not encode the question, so how familiar the experts are with it is not known"})
		return
	}
	c.Known = c.Found.Encoded()
}
