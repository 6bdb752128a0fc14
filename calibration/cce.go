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

// CCERecord has the parameters of CCE.
type CCERecord struct {
	Granularities []string `yaml:"granularities"` // experts, the best alone first
	Temperature   float64  `yaml:"temperature"`
	ECE           float64  `yaml:"ece"` // of questions that it was not fitted on
	Reliability   []Bin    `yaml:"reliability,omitempty"`
}

// Check returns an error for a record that cannot be served.
func (r *CCERecord) Check() error {
	if !(r.Temperature > 0) || math.IsInf(r.Temperature, 0) || len(r.Granularities) == 0 {
		return fmt.Errorf(
			"temperature %v of granularities %v: a number above 0, and some granularities, are needed",
			r.Temperature,
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

// granular is what the granularities found for one question.
type granular struct {
	id     string
	scores [][]float64 // of each granularity, the best first
	right  []bool      // its first passage answers
}

// surest returns the granularity that answers at a temperature, and how sure it is.
func (g *granular) surest(temperature float64) (o Outcome) {
	best := -1.
	for i, scores := range g.scores {
		if p, _ := fusion.TopProbability(scores, temperature); p > best {
			best = p
			o = Outcome{Confidence: p, Correct: g.right[i]}
		}
	}
	return o
}

// subset returns the same question with some of the granularities alone.
func (g *granular) subset(chosen []int) granular {
	out := granular{id: g.id}
	for _, i := range chosen {
		out.scores, out.right = append(out.scores, g.scores[i]), append(out.right, g.right[i])
	}
	return out
}

// granularities returns the columns of a question's granularities.
func (q *Question) granularities() (columns []int) {
	for _, o := range q.Sources {
		if o.Granular {
			columns = append(columns, o.Column)
		}
	}
	return columns
}

// experts returns the columns of the named experts.
func (q *Question) experts(named, sources []string) (columns []int) {
	for _, o := range q.Sources {
		if o.Kind.Dense() && slices.Contains(named, sources[o.Column]) {
			columns = append(columns, o.Column)
		}
	}
	return columns
}

// CCEFit is the fit for one question, made on other questions.
type CCEFit struct {
	Columns     []int // of the granularities
	Temperature float64
}

// chosen returns those of the sources that CCE ranks by.
func (f CCEFit) chosen(sources []fusion.Observed) (out []fusion.Observed) {
	for _, o := range sources {
		if slices.Contains(f.Columns, o.Column) {
			out = append(out, o)
		}
	}
	return out
}

// FitCCE chooses three of the granularities, or takes the named experts, whether
// granularities or not, and fits their temperature. Nil: there are fewer than two.
func (e *Evidence) FitCCE(
	ctx context.Context,
	among ...string,
) (record *CCERecord, report *CCEReport, others []CCEFit, err error) {
	columns := e.Questions[0].granularities()
	most := mostGranularities
	if len(among) > 0 {
		columns = e.Questions[0].experts(among, e.Sources)
		most = len(among)
	}
	if len(columns) < 2 {
		return nil, nil, nil, nil
	}
	all := make([]granular, len(e.Questions))
	for i := range e.Questions {
		q := &e.Questions[i]
		all[i] = granular{id: q.ID}
		for _, column := range columns {
			all[i].scores = append(all[i].scores, q.Table.FirstScores(column, fusion.DefaultCCEDepth))
			all[i].right = append(all[i].right, q.AnsweredBy(column))
		}
	}
	model, err := fitCCE(ctx, all, most)
	if err != nil {
		return nil, nil, nil, err
	}
	models, err := crossFit(all, func(g *granular) string { return g.id },
		func(others []granular) (cceModel, error) { return fitCCE(ctx, others, most) },
		func(m cceModel, _ *granular) (cceModel, error) { return m, nil })
	if err != nil {
		return nil, nil, nil, err
	}
	heldOut := make([]Outcome, len(all))
	for i, m := range models {
		own := all[i].subset(m.chosen)
		heldOut[i] = own.surest(m.temperature)
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
	chosen := choose(all, model.chosen)
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

// cceModel is what is fitted.
type cceModel struct {
	chosen      []int // of the granularities, the best alone first
	temperature float64
}

// fitCCE takes the granularities whose first passages answer most often, at most so many,
// of equal ones the first, and the temperature with the lowest ECE of the surest, by golden section.
func fitCCE(ctx context.Context, questions []granular, most int) (m cceModel, err error) {
	if len(questions) == 0 {
		return m, fmt.Errorf("there are no questions to fit the granularities on")
	}
	for i := range questions[0].scores {
		m.chosen = append(m.chosen, i)
	}
	slices.SortStableFunc(
		m.chosen,
		func(a, b int) int { return cmp.Compare(accuracyAlone(questions, b), accuracyAlone(questions, a)) },
	)
	m.chosen = m.chosen[:min(len(m.chosen), most)]
	of := choose(questions, m.chosen)
	m.temperature, err = minimise(
		ctx,
		logarithmic(-3, 1, 12),
		func(t float64) (float64, error) { return ECE(outcomesAt(of, t)), nil },
	)
	return m, err
}

func choose(questions []granular, chosen []int) []granular {
	out := make([]granular, len(questions))
	for i := range questions {
		out[i] = questions[i].subset(chosen)
	}
	return out
}

func accuracyAlone(questions []granular, granularity int) float64 {
	n := 0
	for _, q := range questions {
		if q.right[granularity] {
			n++
		}
	}
	return float64(n) / float64(max(len(questions), 1))
}

func outcomesAt(questions []granular, temperature float64) []Outcome {
	out := make([]Outcome, len(questions))
	for i := range questions {
		out[i] = questions[i].surest(temperature)
	}
	return out
}

func shareRight(outcomes []Outcome) float64 {
	n := 0.0
	for _, o := range outcomes {
		n += o.correct()
	}
	return n / float64(max(len(outcomes), 1))
}
