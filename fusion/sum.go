package fusion

// sumMethod returns the entry of MethodSum in Methods: the sum of all sources' scores by Settings.Weights, as z-scores
// if words take part and Settings.Normalisation is "".
func sumMethod() Method {
	return Method{
		Name:  MethodSum,
		words: true, completes: true, normalises: true, weighs: everybody,
		Variants: []Variant{
			{
				Name:          "sum of experts",
				Normalisation: Raw,
				ExpertsAlone:  true,
			}, {Name: "sum of experts, z-scores", Normalisation: ZScore, ExpertsAlone: true},
			{
				Name:            "sum of calibrated experts",
				Normalisation:   Raw,
				ExpertsAlone:    true,
				CalibratedAlone: true,
			}, // what MUF is to be compared with
			{Name: "sum, z-scores", Normalisation: ZScore}, {Name: "sum, min-max", Normalisation: MinMax},
		},
		Fuse: func(in Input, s Settings, k int) (Ranking, error) {
			sources, words := in.weightedSources(s)
			if s.Normalisation == "" && words {
				// BM25's sums and inner products have no common scale.
				s.Normalisation = ZScore
			}
			return Sum(in.Table, sources, LinearOptions{Normalisation: s.Normalisation, Missing: s.Missing}, k)
		},
	}
}

// Sum returns the best k candidates by the weighted sum of the sources' scores, normalised as the options say: Σ
// w·norm(s). The weights are used as they are; if all are 0, they are 1. It fails for impossible sources, weights and
// options.
func Sum(c *Candidates, sources []Source, o LinearOptions, k int) (Ranking, error) {
	if err := c.checkSources(sources); err != nil {
		return Ranking{}, err
	}
	if err := o.setDefaults(); err != nil {
		return Ranking{}, err
	}
	f := linearFusion{c: c, missing: o.Missing, sources: withEqualWeights(sources)}
	f.lines = make([]line, len(f.sources))
	for i, s := range f.sources {
		f.lines[i] = f.lineOf(s.Column, o.Normalisation)
	}
	return f.rank(k), nil
}
