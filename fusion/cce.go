package fusion

import (
	"fmt"
	"math"
)

func cce() Method {
	return Method{
		Name: MethodCCE, About: "the granularity that is surest of its first passage",
		NeedsDense: true, Granular: true,
		Variants: []Variant{{Name: "cce"}, {Name: "cce, sum", Combine: CombineSum}},
		Fuse: func(in Input, s Settings, k int) (Ranking, error) {
			var columns []int
			for _, o := range in.Sources {
				if o.Granular {
					columns = append(columns, o.Column)
				}
			}
			return CCE(in.Table, columns, s.CCE, s.Missing, k)
		},
	}
}

// Combine is how CCE combines the granularities by their confidences.
type Combine string

// The ways to combine granularities.
const (
	CombineSurest Combine = "surest" // the ranking of the surest (the paper)
	CombineSum    Combine = "sum"    // the sum of the scores, weighted by the confidences divided by their sum, as MUF
)

// CCEOptions are the options of CCE.
type CCEOptions struct {
	Temperature float64 // divides scores; 0: DefaultCCETemperature
	Depth       int     // hits that a confidence looks at, of every granularity alike; 0: DefaultCCEDepth
	Combine     Combine // "": CombineSurest
}

// The settings of CCE without a calibration.
const (
	DefaultCCETemperature = .1 // the paper's, to begin with
	DefaultCCEDepth       = 30 // the paper's passages of a question
)

// CCE ranks by granularities of one expert (Yang et al., 2022,
// "Confidence-Calibrated Ensemble Dense Phrase Retrieval", section 3.2). The
// confidence of each is TopProbability of its first hits; the surest answers, of
// equally sure ones the one with the lowest column. columns are the granularities'.
func CCE(c *Candidates, columns []int, o CCEOptions, missing Missing, k int) (Ranking, error) {
	granularities := make([]Source, len(columns))
	for i, column := range columns {
		granularities[i] = Source{Column: column, Weight: 1}
	}
	if err := c.check(granularities); err != nil {
		return Ranking{}, err
	}
	if o.Temperature == 0 {
		o.Temperature = DefaultCCETemperature
	}
	if o.Depth == 0 {
		o.Depth = DefaultCCEDepth
	}
	if !(o.Temperature > 0) || math.IsInf(o.Temperature, 0) || o.Depth < 1 {
		return Ranking{}, fmt.Errorf("CCE with temperature %v over %d hits: they must be above 0", o.Temperature, o.Depth)
	}
	several := false // a single hit is no choice, and its probability says nothing
	for i, column := range columns {
		several = several || c.columns[column].hits > 1
		granularities[i].Weight, _ = TopProbability(c.FirstScores(column, o.Depth), o.Temperature)
	}
	var ranking Ranking
	var err error
	switch o.Combine {
	case "", CombineSurest:
		ranking, err = MUFSparse(c, granularities, k)
	case CombineSum:
		ranking, err = MUF(c, granularities, LinearOptions{Missing: missing}, k)
	default:
		err = fmt.Errorf("granularities cannot be combined by %q: %v are known", o.Combine, []Combine{CombineSurest, CombineSum})
	}
	return ranking.confidentIf(several), err
}

// FirstScores are the scores of a column's own first n hits, best first.
func (c *Candidates) FirstScores(column, n int) []float64 {
	scores := make([]float64, min(n, c.columns[column].hits))
	for row := range c.ordinals {
		if at := c.at(row, column); at.origin == FromHit && int(at.rank) <= len(scores) {
			scores[at.rank-1] = float64(at.score)
		}
	}
	return scores
}

// TopProbability is the probability of the first of some scores, the highest, in their
// softmax at a temperature above 0, and its derivative by the temperature, which is
// never positive. Of no scores both are 0.
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
