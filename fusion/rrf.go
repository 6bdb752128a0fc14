package fusion

func rrf() Method {
	return Method{
		Name: MethodRRF, About: "reciprocal ranks",
		Words: true, Weighs: Everybody,
		Variants: []Variant{{Name: "rrf"}},
		Fuse: func(in Input, s Settings, k int) (Ranking, error) {
			sources, _ := in.weighted(s)
			return RRF(in.Table, sources, k)
		},
	}
}

// RRFConstant is the k of reciprocal rank fusion (Cormack, Clarke and
// Büttcher, 2009), which found 60 good over many collections.
const RRFConstant = 60

// RRF is reciprocal rank fusion: Σ w/(60 + rank), where a source that did not
// find a candidate adds nothing. The weights are used as they are; when all
// are 0, they are 1. It returns the best k candidates.
func RRF(c *Candidates, sources []Source, k int) (Ranking, error) {
	if err := c.check(sources); err != nil {
		return Ranking{}, err
	}
	sources = orEqual(sources)
	c.scores = grow(c.scores, c.Len())
	contributions := make([]float64, len(sources))
	magnitude := 0.0
	for row := range c.scores {
		for i, s := range sources {
			contributions[i] = c.reciprocal(row, s).Contribution
			magnitude = max(magnitude, contributions[i])
		}
		c.scores[row] = total(contributions)
	}
	c.settle(magnitude)
	rows := c.best(k, func(row int) bool { return c.foundBy(row, sources) })
	ranking := Ranking{Items: make([]Item, len(rows)), Weights: make([]float64, len(c.columns))}
	parts := make([]Part, len(rows)*len(sources))
	for n, row := range rows {
		own := parts[n*len(sources) : (n+1)*len(sources) : (n+1)*len(sources)]
		for i, s := range sources {
			own[i] = c.reciprocal(int(row), s)
		}
		ranking.Items[n] = Item{Ordinal: c.ordinals[row], Score: c.scores[row], Parts: own}
	}
	for _, s := range sources {
		ranking.Weights[s.Column] = s.Weight
	}
	return ranking, nil
}

func (c *Candidates) reciprocal(row int, s Source) Part {
	p := Part{Column: s.Column, Weight: s.Weight}
	if at := c.at(row, s.Column); at.origin == FromHit {
		p.Score, p.Rank, p.Origin = float64(at.score), int(at.rank), FromHit
		p.Contribution = s.Weight / float64(RRFConstant+at.rank)
	}
	return p
}
