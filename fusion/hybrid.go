package fusion

import (
	"fmt"
	"math"
	"slices"
)

// hybridMethod returns the entry of MethodHybrid in Methods: the experts' scores, weighted by confidence and added up,
// plus the weight Settings.Alpha times BM25's score (Hybrid). Settings.Weights of BM25's column replaces Alpha. It
// needs BM25 and at least one expert.
func hybridMethod() Method {
	return Method{
		Name:  MethodHybrid,
		words: true, needsDense: true, needsWords: true, confidence: true, onlyAmong: true,
		completes: true, normalises: true, sharpens: true, weighs: wordsAlone,
		Variants: []Variant{{Name: "hybrid"}},
		Fuse: func(in Input, s Settings, k int) (Ranking, error) {
			experts, known := in.weightByConfidence()
			if !known && len(experts) > 1 &&
				!slices.ContainsFunc(in.Sources, func(o ObservedSource) bool { return o.Kind.Dense() && o.Confidence >= 0 }) {
				if _, err := in.Table.setTopProbabilities(experts, s.CCE); err != nil {
					return Ranking{}, err
				}
			}
			lexical := in.lexicalColumn()
			alpha, named := s.Weights[lexical]
			if !named {
				alpha = s.Alpha
			}
			return Hybrid(in.Table, experts, lexical, alpha, s.linearOptions(), k)
		},
	}
}

// Hybrid returns the best k candidates by DPR-BM25: dense + α·lexical. The dense score is MUF's fused one, with the
// experts' weights as confidences; with one expert it is that expert's score. lexical is the column of the lexical
// source; negative: there is none. α belongs to a pair of score scales: 1.3 for DPR's inner products near 80 and
// Lucene's BM25, some hundredths for unit vectors. The fused dense list is normalised as a whole, and so is the lexical
// list. With Missing Min, a passage that no expert found has the lowest score of the fused dense list, and one that
// only the experts found the lowest lexical score. It fails for impossible sources, α and options. (Karpukhin et al.,
// 2020, section 5; Pyserini's hybrid searcher; the authors of MUF, who feed the fused list to the same function.)
func Hybrid(c *Candidates, experts []Source, lexical int, alpha float64, o LinearOptions, k int) (Ranking, error) {
	both := make([]Source, 0, len(experts)+1)
	both = append(both, experts...)
	if lexical >= 0 {
		both = append(both, Source{Column: lexical})
	}
	if err := c.checkSources(both); err != nil {
		return Ranking{}, err
	}
	if !(alpha >= 0 && alpha <= MaxWeight) {
		return Ranking{}, fmt.Errorf("alpha is %v: it must be between 0 and %g", alpha, float64(MaxWeight))
	}
	if err := o.setDefaults(); err != nil {
		return Ranking{}, err
	}
	weighted, _ := byConfidence(experts, o.Sharpness)
	copy(both, weighted)
	f := linearFusion{c: c, missing: o.Missing, sources: both, dense: len(experts), standIn: -1}
	f.lines = make([]line, len(both))
	fused := f.fusedDense(o.Normalisation)
	for i := range experts {
		// The experts' weights add up to 1, so the line of the fused list is
		// the weighted sum of the same line of each expert.
		f.lines[i] = fused
	}
	if lexical >= 0 {
		f.lines[len(experts)] = f.lineOf(lexical, o.Normalisation)
		both[len(experts)].Weight = alpha
	}
	return f.rank(k), nil
}

// fusedDense returns the normalisation of the fused dense list, and sets f.standIn to its lowest candidate if Missing
// is Min. f.sources[:f.dense] must have MUF's weights.
func (f *linearFusion) fusedDense(kind Normalisation) line {
	for i := range f.dense {
		f.lines[i] = identityLine()
	}
	if f.dense == 0 || kind == Raw && f.missing != Min {
		return identityLine()
	}
	s := spread{list: f.c.list[:0]}
	contributions := make([]float64, f.dense)
	score := func(row int) float64 {
		for i := range contributions {
			contributions[i] = f.contribution(row, i)
			s.magnitude = max(s.magnitude, math.Abs(contributions[i]))
		}
		return sumAscending(contributions)
	}
	var lowest []int32
	for row := range f.c.ordinals {
		found := f.c.foundBy(row, f.sources[:f.dense])
		if found ||
			f.missing == Exact && f.c.cellAt(row, f.sources[0].Column).isCompleted() && f.c.foundBy(row, f.sources) {
			x := score(row)
			if len(s.list) == 0 || x < s.low {
				lowest = lowest[:0]
			}
			if s.add(x); x == s.low {
				lowest = append(lowest, int32(row))
			}
		}
	}
	f.c.list = s.list
	if f.missing == Min && len(lowest) > 0 {
		f.c.orderTied(lowest)
		f.standIn = int(lowest[len(lowest)-1]) // the last of equals, as at the end of a list
	}
	return s.line(kind)
}
