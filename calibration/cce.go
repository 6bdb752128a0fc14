package calibration

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"example.org/conclave/fusion"
)

// mostGranularities is how many granularities CCE ranks by (Yang et al., 2022, section
// 3.2: the three that do best alone).
const mostGranularities = 3

// CCERecord has the fitted parameters of CCE, the fusion of the surest granularity.
type CCERecord struct {
	Granularities []string `yaml:"granularities"` // experts, the best alone first
	Temperature   float64  `yaml:"temperature"`
	ECE           float64  `yaml:"ece"` // of questions that it was not fitted on
	Reliability   []Bin    `yaml:"reliability,omitempty"`
}

// Check returns an error unless the temperature is above 0 and finite, and there is at least one granularity.
func (r *CCERecord) Check() error {
	if !(r.Temperature > 0) || math.IsInf(r.Temperature, 0) || len(r.Granularities) == 0 {
		return fmt.Errorf(
			"temperature %v of granularities %v: a number above 0, and some granularities, are needed", r.Temperature,
			r.Granularities,
		)
	}
	return nil
}

// CCEReport has the figures of CCE on held-out questions.
type CCEReport struct {
	Granularities []string           `json:"granularities"`
	Alone         map[string]float64 `json:"top1_alone"` // of every granularity
	Temperature   float64            `json:"temperature"`
	Top1          float64            `json:"top1"`
	ECE           float64            `json:"ece"`
	AUROC         *float64           `json:"auroc"`
	Reliability   []Bin              `json:"reliability"`
	// Uncalibrated are the same figures at the paper's first temperature.
	Uncalibrated struct {
		Temperature float64 `json:"temperature"`
		Top1        float64 `json:"top1"`
		ECE         float64 `json:"ece"`
		Reliability []Bin   `json:"reliability"`
	} `json:"uncalibrated"`
}

// granularScores has, for one question, each granularity's scores and whether its first passage answers.
type granularScores struct {
	id     string
	scores [][]float64 // of each granularity, the best first
	right  []bool      // its first passage answers
}

// surestOutcome returns the outcome of the granularity that gives its first passage the highest probability at a
// temperature, with that probability as the confidence. If several are equally sure, the one with the lowest index
// counts. A granularity without scores has the probability 0; without granularities the outcome is zero.
func (g *granularScores) surestOutcome(temperature float64) (o Outcome) {
	best := -1.
	for i, scores := range g.scores {
		if p, _ := fusion.TopProbability(scores, temperature); p > best {
			best = p
			o = Outcome{Confidence: p, Correct: g.right[i]}
		}
	}
	return o
}

// withOnly returns a copy of the question with only the granularities at these indexes, in the order of chosen.
func (g *granularScores) withOnly(chosen []int) granularScores {
	out := granularScores{id: g.id}
	for _, i := range chosen {
		out.scores, out.right = append(out.scores, g.scores[i]), append(out.right, g.right[i])
	}
	return out
}

// granularityColumns returns the columns of the question's granularities.
func (q *Question) granularityColumns() (columns []int) {
	for _, o := range q.Sources {
		if o.Granular {
			columns = append(columns, o.Column)
		}
	}
	return columns
}

// expertColumns returns the columns of the named dense experts. sources are the sources' names by column.
func (q *Question) expertColumns(named, sources []string) (columns []int) {
	for _, o := range q.Sources {
		if o.Kind.Dense() && slices.Contains(named, sources[o.Column]) {
			columns = append(columns, o.Column)
		}
	}
	return columns
}

// CCEFit is CCE's parameters for one question, fitted on questions of other folds.
type CCEFit struct {
	Columns     []int // of the granularities
	Temperature float64
}

// chosenSources returns those of the sources by which CCE ranks.
func (f CCEFit) chosenSources(sources []fusion.ObservedSource) (out []fusion.ObservedSource) {
	for _, o := range sources {
		if slices.Contains(f.Columns, o.Column) {
			out = append(out, o)
		}
	}
	return out
}

// FitCCE chooses three of the granularities, or takes the experts named in among, and fits their temperature. others
// has a fit on the other folds for each question. All results are nil if there are fewer than two granularities. It
// fails if the fit does or ctx ends. There must be a question.
func (e *Evidence) FitCCE(
	ctx context.Context,
	among ...string,
) (record *CCERecord, report *CCEReport, others []CCEFit, err error) {
	columns := e.Questions[0].granularityColumns()
	most := mostGranularities
	if len(among) > 0 {
		columns = e.Questions[0].expertColumns(among, e.Sources)
		most = len(among)
	}
	if len(columns) < 2 {
		return nil, nil, nil, nil
	}
	all := make([]granularScores, len(e.Questions))
	for i := range e.Questions {
		q := &e.Questions[i]
		all[i] = granularScores{id: q.ID}
		for _, column := range columns {
			all[i].scores = append(all[i].scores, q.Table.FirstScores(column, fusion.DefaultCCEDepth))
			all[i].right = append(all[i].right, q.AnsweredBy(column))
		}
	}
	model, err := fitCCE(ctx, all, most)
	if err != nil {
		return nil, nil, nil, err
	}
	models, err := crossFit(all, func(g *granularScores) string { return g.id },
		func(others []granularScores) (cceModel, error) { return fitCCE(ctx, others, most) },
		func(m cceModel, _ *granularScores) (cceModel, error) { return m, nil })
	if err != nil {
		return nil, nil, nil, err
	}
	heldOut := make([]Outcome, len(all))
	for i, m := range models {
		own := all[i].withOnly(m.chosen)
		heldOut[i] = own.surestOutcome(m.temperature)
		fit := CCEFit{Temperature: m.temperature}
		for _, n := range m.chosen {
			fit.Columns = append(fit.Columns, columns[n])
		}
		others = append(others, fit)
	}
	s := Summarise(heldOut)
	report = &CCEReport{
		Alone:       map[string]float64{},
		Temperature: model.temperature,
		Top1:        shareRight(heldOut),
		ECE:         s.ECE,
		AUROC:       s.AUROC,
		Reliability: Reliability(heldOut),
	}
	for i, column := range columns {
		report.Alone[e.Sources[column]] = accuracyAlone(all, i)
	}
	for _, i := range model.chosen {
		report.Granularities = append(report.Granularities, e.Sources[columns[i]])
	}
	chosen := chooseGranularities(all, model.chosen)
	before := outcomesAt(chosen, fusion.DefaultCCETemperature)
	u := &report.Uncalibrated
	u.Temperature = fusion.DefaultCCETemperature
	u.Top1 = shareRight(before)
	u.ECE = ECE(before)
	u.Reliability = Reliability(before)
	record = &CCERecord{
		Granularities: report.Granularities,
		Temperature:   model.temperature,
		ECE:           s.ECE,
		Reliability:   report.Reliability,
	}
	return record, report, others, record.Check()
}

// cceModel is a fit of CCE: the granularities and their temperature.
type cceModel struct {
	chosen      []int // of the granularities, the best alone first
	temperature float64
}

// fitCCE chooses the granularities, at most so many (most), whose first passages answer most often; of equally good
// ones the first. It fits the temperature at which the surest of the chosen has the lowest ECE. It fails if there are
// no questions or ctx ends.
func fitCCE(ctx context.Context, questions []granularScores, most int) (m cceModel, err error) {
	if len(questions) == 0 {
		return m, fmt.Errorf("there are no questions to fit the granularities on")
	}
	for i := range questions[0].scores {
		m.chosen = append(m.chosen, i)
	}
	slices.SortStableFunc(
		m.chosen, func(a, b int) int { return cmp.Compare(accuracyAlone(questions, b), accuracyAlone(questions, a)) },
	)
	m.chosen = m.chosen[:min(len(m.chosen), most)]
	chosen := chooseGranularities(questions, m.chosen)
	m.temperature, err = goldenSection(
		ctx, logarithmicGrid(-3, 1, 12), func(t float64) (float64, error) { return ECE(outcomesAt(chosen, t)), nil },
	)
	return m, err
}

// chooseGranularities returns copies of the questions with only the granularities at these indexes (withOnly).
func chooseGranularities(questions []granularScores, chosen []int) []granularScores {
	out := make([]granularScores, len(questions))
	for i := range questions {
		out[i] = questions[i].withOnly(chosen)
	}
	return out
}

// accuracyAlone returns the share of questions that a granularity's first passage answers.
func accuracyAlone(questions []granularScores, granularity int) float64 {
	n := 0
	for _, q := range questions {
		if q.right[granularity] {
			n++
		}
	}
	return float64(n) / float64(max(len(questions), 1))
}

// outcomesAt returns the surest outcome of each question at a temperature.
func outcomesAt(questions []granularScores, temperature float64) []Outcome {
	out := make([]Outcome, len(questions))
	for i := range questions {
		out[i] = questions[i].surestOutcome(temperature)
	}
	return out
}

// shareRight returns the share of outcomes that are correct; 0 without any.
func shareRight(outcomes []Outcome) float64 {
	n := 0.0
	for _, o := range outcomes {
		n += o.correctValue()
	}
	return n / float64(max(len(outcomes), 1))
}
