package answering

import (
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/reply"
)

// ContributionOf returns the contribution of a source to a fused score. The result points to part's score and rank; the
// score in part is rounded.
func ContributionOf(source string, part *fusion.Part) reply.Contribution {
	c := reply.Contribution{
		Source: source, Origin: part.Origin.String(),
		Weight: run.Printed(part.Weight), Contribution: run.Printed(part.Contribution),
	}
	if part.Origin != fusion.FromNone {
		part.Score = run.Printed(part.Score)
		c.Score = &part.Score
	}
	if part.Rank > 0 {
		c.Rank = &part.Rank
	}
	return c
}

// CreditKey identifies a passage of one of the answer's rankings.
type CreditKey struct {
	Ranking int
	Passage rank.Ordinal
}

// Credit records a contribution to a passage's score that is not a source's, such as a reader's. ranking is an index of
// r.Rankings. It does not change the score.
func (r *Ranking) Credit(ranking int, passage rank.Ordinal, c reply.Contribution) {
	if r.Credits == nil {
		r.Credits = map[CreditKey][]reply.Contribution{}
	}
	at := CreditKey{ranking, passage}
	r.Credits[at] = append(r.Credits[at], c)
}

// addModelScores returns a copy of items with weight times a model's score added to each, and credits that contribution
// to the model (source) in the first ranking. A contribution is how far the model's score in modelScores lies above the
// lowest one, so that it is never negative and no item falls behind those that the model did not score. modelScores
// must not be empty.
func (r *Ranking) addModelScores(
	items []fusion.Item, modelScores []float64, weight float64, source, origin string,
) []fusion.Item {
	raised := slices.Clone(items)
	least := slices.Min(modelScores)
	for i := range raised {
		above := modelScores[i] - least
		raised[i].Score += weight * above
		r.Credit(0, raised[i].Ordinal, reply.Contribution{
			Source:       source,
			Score:        run.Ptr(run.Printed(above)),
			Origin:       origin,
			Weight:       run.Printed(weight),
			Contribution: run.Printed(weight * above),
		})
	}
	return raised
}
