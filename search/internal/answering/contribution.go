package answering

import (
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/reply"
)

// ContributionOf returns the contribution of a source to a fused score. It points into part, and rounds the score
// there.
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

// Credited identifies a passage of one of the answer's rankings.
type Credited struct {
	Ranking int
	Passage rank.Ordinal
}

// Credit adds a contribution that is not a source's, such as a reader's, to those of a passage in a ranking.
func (r *Ranking) Credit(ranking int, passage rank.Ordinal, c reply.Contribution) {
	if r.Credits == nil {
		r.Credits = map[Credited][]reply.Contribution{}
	}
	at := Credited{ranking, passage}
	r.Credits[at] = append(r.Credits[at], c)
}

// raise returns items, in their order, with what a model said of each added to their scores, times
// a weight. A contribution is how far what is said lies above the least, so that none
// falls behind what was not scored.
func (r *Ranking) raise(items []fusion.Item, said []float64, weight float64, source, origin string) []fusion.Item {
	raised := slices.Clone(items)
	least := slices.Min(said)
	for i := range raised {
		above := said[i] - least
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
