package fusion

import (
	"cmp"
	"fmt"
	"math"
)

// cceMethod returns the entry of MethodCCE in Methods: the dense expert that is surest of the question answers (CCE).
// It needs at least one dense expert, and leaves words out.
func cceMethod() Method {
	return Method{
		Name:       MethodCCE,
		needsDense: true, granular: true, completes: true, sharpens: true,
		Variants: []Variant{{Name: "cce"}, {Name: "cce, sharpness 3", Sharpness: DefaultSharpness}},
		Fuse: func(in Input, s Settings, k int) (Ranking, error) {
			var columns []int
			for _, o := range in.Sources {
				if o.Kind.Dense() {
					columns = append(columns, o.Column)
				}
			}
			return CCE(in.Table, columns, s.CCE, s.Missing, k)
		},
	}
}

// CCEOptions are the options of CCE.
type CCEOptions struct {
	Temperature float64 // divides scores; 0: DefaultCCETemperature
	Depth       int     // hits that a confidence looks at, of every granularity alike; 0: DefaultCCEDepth
	// Sharpness makes a sum of the scores, weighted by this power of the confidences, as MUF
	// does; 0: the surest alone answers (the paper).
	Sharpness float64
}

// The settings of CCE without a calibration.
const (
	DefaultCCETemperature = .1 // the paper's, to begin with
	DefaultCCEDepth       = 30 // the paper's passages of a question
)

// CCE ranks by the granularities of one expert (Yang et al., 2022, "Confidence-Calibrated Ensemble Dense Phrase
// Retrieval", section 3.2), or by several experts: columns are theirs. The confidence of each is the TopProbability of
// its first hits. Without o.Sharpness the surest alone ranks, of equally sure ones that with the lowest column. It
// fails for columns that do not exist and impossible options. The ranking has no confidence if none of the columns has
// more than one hit.
func CCE(c *Candidates, columns []int, o CCEOptions, missing Missing, k int) (Ranking, error) {
	experts := make([]Source, len(columns))
	for i, column := range columns {
		experts[i] = Source{Column: column, Weight: 1}
	}
	if err := c.checkSources(experts); err != nil {
		return Ranking{}, err
	}
	several, err := c.setTopProbabilities(experts, o)
	if err != nil {
		return Ranking{}, err
	}
	var ranking Ranking
	if o.Sharpness == 0 {
		ranking, err = MUFSparse(c, experts, k)
	} else {
		ranking, err = MUF(c, experts, LinearOptions{Missing: missing, Sharpness: o.Sharpness}, k)
	}
	return ranking.confidentIf(several), err
}

// setTopProbabilities sets the weights of experts, in place, to their confidences by CCE: the TopProbability of the
// first o.Depth hits of each. several is false if none has more than one hit: such a confidence means nothing. It fails
// for impossible options.
func (c *Candidates) setTopProbabilities(experts []Source, o CCEOptions) (several bool, err error) {
	o.Temperature, o.Depth = cmp.Or(o.Temperature, DefaultCCETemperature), cmp.Or(o.Depth, DefaultCCEDepth)
	if !(o.Temperature > 0) || math.IsInf(o.Temperature, 0) || o.Depth < 1 {
		return false, fmt.Errorf("CCE with temperature %v over %d hits: they must be above 0", o.Temperature, o.Depth)
	}
	for i, x := range experts {
		several = several || c.columns[x.Column].hits > 1
		experts[i].Weight, _ = TopProbability(c.FirstScores(x.Column, o.Depth), o.Temperature)
	}
	return several, nil
}

// FirstScores returns the scores of a column's own first n hits, the best first; fewer if it has fewer.
func (c *Candidates) FirstScores(column, n int) []float64 {
	scores := make([]float64, min(n, c.columns[column].hits))
	for row := range c.ordinals {
		if at := c.cellAt(row, column); at.origin == FromHit && int(at.rank) <= len(scores) {
			scores[at.rank-1] = float64(at.score)
		}
	}
	return scores
}

// TopProbability returns the probability of the first of some scores, which must be the highest, in their softmax at a
// temperature above 0, and its derivative by the temperature, which is never positive. Without scores both are 0.
func TopProbability(scores []float64, temperature float64) (p, slope float64) {
	if len(scores) == 0 {
		return 0, 0
	}
	sum, below := 0.0, 0.0 // of the exponentials, and of these times how far the scores are below the first
	for _, s := range scores {
		e := math.Exp((s - scores[0]) / temperature)
		sum += e
		below += e * (s - scores[0])
	}
	p = 1 / sum
	return p, p * p * below / (temperature * temperature)
}
