package fusion

// rrfMethod returns the entry of MethodRRF in Methods: the sum of all sources' reciprocal ranks (RRF), by
// Settings.Weights.
func rrfMethod() Method {
	return Method{
		Name:  MethodRRF,
		words: true, weighs: everybody,
		Variants: []Variant{{Name: "rrf"}},
		Fuse: func(in Input, s Settings, k int) (Ranking, error) {
			sources, _ := in.weightedSources(s)
			return RRF(in.Table, sources, k)
		},
	}
}

// rrfConstant is the k of reciprocal rank fusion (Cormack, Clarke and
// Büttcher, 2009), which found 60 good over many collections.
const rrfConstant = 60

// RRF returns the best k candidates by reciprocal rank fusion: Σ w/(60 + rank), where a source that did not find a
// candidate adds nothing. The weights are used as they are; if all are 0, they are 1. It fails for impossible sources
// and weights.
func RRF(c *Candidates, sources []Source, k int) (Ranking, error) {
	if err := c.checkSources(sources); err != nil {
		return Ranking{}, err
	}
	sources = withEqualWeights(sources)
	part := func(row, i int) Part { return c.reciprocalRank(row, sources[i]) }
	return c.rankBy(sources, k, func(row, i int) float64 { return part(row, i).Contribution }, part), nil
}

// reciprocalRank returns the contribution of a source to a row by RRF; 0, of FromNone, if the source did not find it.
func (c *Candidates) reciprocalRank(row int, s Source) Part {
	p := Part{Column: s.Column, Weight: s.Weight}
	if at := c.cellAt(row, s.Column); at.origin == FromHit {
		p.Score = float64(at.score)
		p.Rank = int(at.rank)
		p.Origin = FromHit
		p.Contribution = s.Weight / float64(rrfConstant+at.rank)
	}
	return p
}
