package evaluation

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"conclave/calibration"
	"conclave/fusion"
)

// PoolReport is how methods rank thirty passages of each question, one of which answers
// (calibration.GatherPools): the protocol of Yang et al., 2022, section 4.1.
type PoolReport struct {
	Domains []DomainInfo `json:"domains"`
	Rows    []PoolRow    `json:"rows"`
	// CCE is nil without granularities. Against is the best granularity alone, P the
	// two-sided p-value of a paired randomisation test of CCE against it, and Regret how
	// far CCE is behind each domain's own best granularity, on average.
	CCE     *calibration.CCEReport `json:"cce,omitempty"`
	Against string                 `json:"against,omitempty"`
	P       float64                `json:"p,omitempty"`
	Regret  float64                `json:"regret"`
}

// PoolRow is how often a method ranks the passage that answers first, 0 to 1.
type PoolRow struct {
	Method  string    `json:"method"`
	All     float64   `json:"all"`
	Mean    float64   `json:"mean_over_domains"`
	Domains []float64 `json:"domains"`

	hits []float64 // of each question
}

// Pools measures each source alone, sums of the granularities, and CCE by what was
// fitted on other questions.
func Pools(ctx context.Context, e *calibration.Evidence) (*PoolReport, error) {
	r := &PoolReport{}
	for _, q := range e.Questions {
		at := slices.IndexFunc(r.Domains, func(d DomainInfo) bool { return d.Name == q.Domain })
		if at < 0 {
			at = len(r.Domains)
			r.Domains = append(r.Domains, DomainInfo{Name: q.Domain})
		}
		r.Domains[at].Questions++
	}
	_, report, fits, err := e.FitCCE(ctx)
	if err != nil {
		return nil, err
	}
	add := func(name string, fuse func(i int, table *fusion.Candidates) (fusion.Ranking, error)) error {
		row := PoolRow{Method: name, Domains: make([]float64, len(r.Domains)), hits: make([]float64, len(e.Questions))}
		for i := range e.Questions {
			q := &e.Questions[i]
			ranking, err := fuse(i, q.Table)
			if err != nil {
				return fmt.Errorf("%s: question %s: %w", name, q.ID, err)
			}
			if len(ranking.Items) > 0 && q.Relevant[ranking.Items[0].Ordinal] > 0 {
				row.hits[i] = 1
				at := slices.IndexFunc(r.Domains, func(d DomainInfo) bool { return d.Name == q.Domain })
				row.Domains[at] += 1 / float64(r.Domains[at].Questions)
			}
		}
		row.All, row.Mean = mean(row.hits), mean(row.Domains)
		r.Rows = append(r.Rows, row)
		return nil
	}
	for column, name := range e.Sources {
		if err := add(name, func(_ int, table *fusion.Candidates) (fusion.Ranking, error) {
			return fusion.Sum(table, []fusion.Source{{Column: column, Weight: 1}}, fusion.LinearOptions{}, 1)
		}); err != nil {
			return nil, err
		}
	}
	if r.CCE = report; report == nil {
		return r, nil
	}
	r.best(e)
	for _, m := range []struct {
		name string
		fuse func(i int, table *fusion.Candidates) (fusion.Ranking, error)
	}{
		{"sum of the granularities", func(i int, table *fusion.Candidates) (fusion.Ranking, error) {
			var all []fusion.Source
			for _, column := range fits[i].Columns {
				all = append(all, fusion.Source{Column: column, Weight: 1})
			}
			return fusion.Sum(table, all, fusion.LinearOptions{}, 1)
		}},
		{"CCE, weighted sum", func(i int, table *fusion.Candidates) (fusion.Ranking, error) {
			return fusion.CCE(table, fits[i].Columns, fusion.CCEOptions{Temperature: fits[i].Temperature, Combine: fusion.CombineSum}, fusion.Exact, 1)
		}},
		{fmt.Sprintf("CCE, temperature %g", report.Uncalibrated.Temperature), func(i int, table *fusion.Candidates) (fusion.Ranking, error) {
			return fusion.CCE(table, fits[i].Columns, fusion.CCEOptions{}, fusion.Exact, 1)
		}},
		{"CCE, calibrated on other folds", func(i int, table *fusion.Candidates) (fusion.Ranking, error) {
			return fusion.CCE(table, fits[i].Columns, fusion.CCEOptions{Temperature: fits[i].Temperature}, fusion.Exact, 1)
		}},
	} {
		if err := add(m.name, m.fuse); err != nil {
			return nil, err
		}
	}
	r.compare()
	return r, nil
}

// best is the granularity that does best alone on all questions.
func (r *PoolReport) best(e *calibration.Evidence) {
	highest := -1.0
	for i, row := range r.Rows {
		if _, granular := r.CCE.Alone[e.Sources[i]]; granular && row.All > highest {
			highest, r.Against = row.All, row.Method
		}
	}
}

// compare sets CCE, the last row, against the granularities.
func (r *PoolReport) compare() {
	cce := r.Rows[len(r.Rows)-1]
	for _, row := range r.Rows {
		if row.Method == r.Against {
			r.P = PairedRandomisation(cce.hits, row.hits, testRounds, 1)
		}
	}
	for d := range r.Domains {
		highest := 0.0
		for _, row := range r.Rows {
			if _, granular := r.CCE.Alone[row.Method]; granular {
				highest = max(highest, row.Domains[d])
			}
		}
		r.Regret += (highest - cce.Domains[d]) / float64(len(r.Domains))
	}
}

// WriteText writes the figures in percent, for people.
func (r *PoolReport) WriteText(to io.Writer) error {
	out := bufio.NewWriter(to)
	_, _ = fmt.Fprintf(out, "top-1 of one passage that answers among nine that BM25 finds first and twenty at random\n\n")
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(t, "method\tall questions\tmean\t")
	for _, d := range r.Domains {
		_, _ = fmt.Fprintf(t, "%s (%d)\t", d.Name, d.Questions)
	}
	_, _ = fmt.Fprintln(t)
	for _, row := range r.Rows {
		_, _ = fmt.Fprintf(t, "%s\t%.1f\t%.1f\t", row.Method, 100*row.All, 100*row.Mean)
		for _, x := range row.Domains {
			_, _ = fmt.Fprintf(t, "%.1f\t", 100*x)
		}
		_, _ = fmt.Fprintln(t)
	}
	_ = t.Flush()
	if c := r.CCE; c != nil {
		_, _ = fmt.Fprintf(out, "\nCCE against %s: p %.4f; behind each domain's best granularity by %.1f on average\n", r.Against, r.P, 100*r.Regret)
		_, _ = fmt.Fprintf(out, "temperature by golden section %.4f: ECE %.3f on other folds; at %.1f: %.3f\n", c.Temperature, c.ECE, c.Uncalibrated.Temperature, c.Uncalibrated.ECE)
		writeDescent(out, "gradient descent as printed", c.Printed)
		writeDescent(out, "with back-tracking", c.Backtracking)
		_, _ = fmt.Fprintln(out, "confidence, and how often it was right, by tenth:")
		for _, b := range c.Reliability {
			_, _ = fmt.Fprintf(out, "  %.2f  %.2f  of %d\n", b.Confidence, b.Accuracy, b.Questions)
		}
	}
	return out.Flush()
}

// shownSteps is how many steps of a descent are shown.
const shownSteps = 6

func writeDescent(out io.Writer, name string, d calibration.Descent) {
	_, _ = fmt.Fprintf(out, "%s:", name)
	for i, t := range d.Temperatures {
		if i < shownSteps {
			_, _ = fmt.Fprintf(out, " %.4g", t)
		}
	}
	last := len(d.Temperatures) - 1
	if last >= shownSteps {
		_, _ = fmt.Fprintf(out, " … %.4g", d.Temperatures[last])
	}
	_, _ = fmt.Fprintf(out, " (%d steps, squared ECE %.4f)\n", last, d.SquaredECE[last])
}
