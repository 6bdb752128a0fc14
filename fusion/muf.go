package fusion

func muf() Method {
	return Method{
		Name: MethodMUF, About: "experts weighted by the certainty of their ensembles (mutual information)",
		NeedsDense: true, Confidence: true, Completes: true, Normalises: true,
		Variants: []Variant{
			{Name: "muf"}, {Name: "muf, lowest", Missing: Min},
			{Name: "muf, z-scores", Normalisation: ZScore}, {Name: "muf, min-max", Normalisation: MinMax},
		},
		Fuse: func(in Input, s Settings, k int) (Ranking, error) {
			experts, known := in.sure()
			ranking, err := MUF(in.Table, experts, LinearOptions{Normalisation: s.Normalisation, Missing: s.Missing}, k)
			return ranking.confidentIf(known), err
		},
	}
}

func mufSparse() Method {
	return Method{
		Name: MethodMUFSparse, About: "the ranking of the most certain expert",
		NeedsDense: true, Confidence: true,
		Variants: []Variant{{Name: "muf-sparse"}},
		Fuse: func(in Input, _ Settings, k int) (Ranking, error) {
			experts, known := in.sure()
			ranking, err := MUFSparse(in.Table, experts, k)
			return ranking.confidentIf(known), err
		},
	}
}

// confidentIf removes the confidence where it is not known.
func (r Ranking) confidentIf(known bool) Ranking {
	if !known {
		r.Confidence = nil
	}
	return r
}

// MUF is the sum of the experts' scores weighted by their confidences divided
// by the sum of these (Li et al., 2021, equation 6 and section 5). The Weight
// of a source is its confidence.
func MUF(c *Candidates, experts []Source, o LinearOptions, k int) (Ranking, error) {
	if err := c.check(experts); err != nil {
		return Ranking{}, err
	}
	weighted, mean := byConfidence(experts)
	ranking, err := Sum(c, weighted, o, k)
	if err == nil && len(experts) > 0 {
		ranking.Confidence = &mean
	}
	return ranking, err
}

// MUFSparse is the ranking of the most confident expert; of equally confident
// ones, the one with the lowest column. (The authors' code for it fails; their
// documentation says this.)
func MUFSparse(c *Candidates, experts []Source, k int) (Ranking, error) {
	if err := c.check(experts); err != nil {
		return Ranking{}, err
	}
	if len(experts) == 0 {
		return Sum(c, nil, LinearOptions{}, k)
	}
	surest := experts[0]
	for _, e := range experts[1:] {
		if e.Weight > surest.Weight || e.Weight == surest.Weight && e.Column < surest.Column {
			surest = e
		}
	}
	ranking, err := Sum(c, []Source{{Column: surest.Column, Weight: 1}}, LinearOptions{}, k)
	ranking.Confidence = &surest.Weight
	return ranking, err
}

// byConfidence turns confidences into weights, and returns their mean.
func byConfidence(experts []Source) (weighted []Source, mean float64) {
	confidences := make([]float64, len(experts))
	for i, e := range experts {
		confidences[i] = e.Weight
	}
	weighted = make([]Source, len(experts))
	for i, w := range weightsOf(confidences) {
		weighted[i] = Source{Column: experts[i].Column, Weight: w}
	}
	return weighted, total(confidences) / float64(max(len(experts), 1))
}
