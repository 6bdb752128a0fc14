// Package pools measures how methods rank few passages of each question, one of which answers:
// the protocol of Yang et al., 2022, section 4.1. It makes tables of docs/evidence/methods.md.
package pools

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"example.org/conclave/calibration"
	"example.org/conclave/evaluation"
	"example.org/conclave/fusion"
)

// Report is the result of ranking thirty passages of each question, one of which answers (Gather).
type Report struct {
	Domains []evaluation.DomainInfo `json:"domains"`
	Rows    []Row                   `json:"rows"`
	// Best is the granularity that does best alone; "" without granularities.
	Best string `json:"best,omitempty"`
	Sets []Set  `json:"sets,omitempty"`
}

// Set is CCE among some granularities, or other experts. P is the two-sided p-value of a paired randomisation test
// against the best granularity alone, and Regret how far CCE is behind each domain's own best granularity, of all that
// there are, on average.
type Set struct {
	Among  []string               `json:"among"`
	CCE    *calibration.CCEReport `json:"cce"`
	P      float64                `json:"p"`
	Regret float64                `json:"regret"`
	// Printed and Backtracking are gradient descent on the squared ECE, as the paper
	// prints it and with steps that are halved until they gain; on all questions.
	Printed      Descent `json:"gradient_as_printed"`
	Backtracking Descent `json:"gradient_with_backtracking"`
}

// testRounds is how often the pairs are swapped at random.
const testRounds = 10_000

// Row is the share of questions, from 0 to 1, for which a method ranks the passage that answers first.
type Row struct {
	Method  string    `json:"method"`
	All     float64   `json:"all"`
	Mean    float64   `json:"mean_over_domains"`
	Domains []float64 `json:"domains"`

	hits []float64 // of each question
}

// Measure measures each source alone, and for each set of experts, given by their names, their sum and CCE with what
// was fitted on other questions. Without sets it measures all granularities as one set. With fewer than two
// granularities the report has neither Best nor Sets, whatever sets names. It returns an error if the collection has
// no expert of a name, or a set has fewer than two. e must have a question.
func Measure(ctx context.Context, e *calibration.Evidence, sets ...[]string) (*Report, error) {
	r := &Report{}
	for _, q := range e.Questions {
		at := slices.IndexFunc(r.Domains, func(d evaluation.DomainInfo) bool { return d.Name == q.Domain })
		if at < 0 {
			at = len(r.Domains)
			r.Domains = append(r.Domains, evaluation.DomainInfo{Name: q.Domain})
		}
		r.Domains[at].Questions++
	}
	for column, name := range e.Sources {
		if err := r.add(e, name, func(_ int, table *fusion.Candidates) (fusion.Ranking, error) {
			return fusion.Sum(table, []fusion.Source{{Column: column, Weight: 1}}, fusion.LinearOptions{}, 1)
		}); err != nil {
			return nil, err
		}
	}
	var alone []Row // of the granularities
	for _, o := range e.Questions[0].Sources {
		if o.Granular {
			alone = append(alone, r.Rows[o.Column])
		}
	}
	if len(alone) < 2 {
		return r, nil
	}
	best := slices.MaxFunc(alone, func(a, b Row) int { return cmp.Compare(a.All, b.All) })
	r.Best = best.Method
	if len(sets) == 0 {
		var all []string
		for _, row := range alone {
			all = append(all, row.Method)
		}
		sets = [][]string{all}
	}
	for _, among := range sets {
		for _, name := range among {
			if !slices.ContainsFunc(
				e.Questions[0].Sources,
				func(o fusion.ObservedSource) bool { return o.Kind.Dense() && e.Sources[o.Column] == name },
			) {
				return nil, fmt.Errorf("the collection has no expert %s", name)
			}
		}
		cce, err := r.addSet(ctx, e, among)
		if err != nil {
			return nil, err
		}
		row := r.Rows[len(r.Rows)-1]
		set := Set{Among: among, CCE: cce}
		chosen := granularOf(e, cce.Granularities)
		set.Printed = descent(chosen, false)
		set.Backtracking = descent(chosen, true)
		set.P = evaluation.PairedRandomisation(row.hits, best.hits, testRounds, 1)
		for d := range r.Domains {
			highest := slices.MaxFunc(alone, func(a, b Row) int { return cmp.Compare(a.Domains[d], b.Domains[d]) })
			set.Regret += (highest.Domains[d] - row.Domains[d]) / float64(len(r.Domains))
		}
		r.Sets = append(r.Sets, set)
	}
	return r, nil
}

// add ranks the passages of every question with fuse, and appends a row to r.Rows with the share of questions for
// which a relevant one comes first. i is the index of the question in e.Questions. It returns the first error of
// fuse. r.Domains must be complete.
func (r *Report) add(
	e *calibration.Evidence,
	name string,
	fuse func(i int, table *fusion.Candidates) (fusion.Ranking, error),
) error {
	row := Row{Method: name, Domains: make([]float64, len(r.Domains)), hits: make([]float64, len(e.Questions))}
	for i := range e.Questions {
		q := &e.Questions[i]
		ranking, err := fuse(i, q.Table)
		if err != nil {
			return fmt.Errorf("%s: question %s: %w", name, q.ID, err)
		}
		if len(ranking.Items) > 0 && q.Relevant[ranking.Items[0].Ordinal] > 0 {
			row.hits[i] = 1
			at := slices.IndexFunc(r.Domains, func(d evaluation.DomainInfo) bool { return d.Name == q.Domain })
			row.Domains[at] += 1 / float64(r.Domains[at].Questions)
		}
	}
	row.All = mean(row.hits)
	row.Mean = mean(row.Domains)
	r.Rows = append(r.Rows, row)
	return nil
}

// addSet appends the rows of a sum and four variants of CCE over the experts in among, the calibrated one last, and
// returns the report on CCE's fit. It fails if there are fewer than two such experts.
func (r *Report) addSet(ctx context.Context, e *calibration.Evidence, among []string) (*calibration.CCEReport, error) {
	_, report, fits, err := e.FitCCE(ctx, among...)
	if err != nil {
		return nil, err
	}
	if report == nil {
		return nil, fmt.Errorf("%v: cce chooses among two experts or more", among)
	}
	suffix := " of " + strings.Join(among, ", ")
	for _, m := range []struct {
		name string
		fuse func(i int, table *fusion.Candidates) (fusion.Ranking, error)
	}{
		{"sum" + suffix, func(i int, table *fusion.Candidates) (fusion.Ranking, error) {
			var all []fusion.Source
			for _, column := range fits[i].Columns {
				all = append(all, fusion.Source{Column: column, Weight: 1})
			}
			return fusion.Sum(table, all, fusion.LinearOptions{}, 1)
		}},
		{"CCE" + suffix + ", weighted sum", func(i int, table *fusion.Candidates) (fusion.Ranking, error) {
			return fusion.CCE(table, fits[i].Columns, fusion.CCEOptions{Temperature: fits[i].Temperature,
				Sharpness: fusion.PaperSharpness}, fusion.Exact, 1)
		}},
		{fmt.Sprintf("CCE%s, sharpness %d", suffix, fusion.DefaultSharpness),
			func(i int, table *fusion.Candidates) (fusion.Ranking, error) {
				return fusion.CCE(table, fits[i].Columns, fusion.CCEOptions{Temperature: fits[i].Temperature,
					Sharpness: fusion.DefaultSharpness}, fusion.Exact, 1)
			}},
		{fmt.Sprintf("CCE%s, temperature %g", suffix, report.Uncalibrated.Temperature),
			func(i int, table *fusion.Candidates) (fusion.Ranking, error) {
				return fusion.CCE(table, fits[i].Columns, fusion.CCEOptions{}, fusion.Exact, 1)
			}},
		{"CCE" + suffix + ", calibrated on other folds", func(i int, table *fusion.Candidates) (fusion.Ranking, error) {
			return fusion.CCE(table, fits[i].Columns, fusion.CCEOptions{Temperature: fits[i].Temperature}, fusion.Exact, 1)
		}},
	} {
		if err := r.add(e, m.name, m.fuse); err != nil {
			return nil, err
		}
	}
	return report, nil
}

// WriteText writes the report to to for people: a line for each method, in percent, and then each set. It returns the
// error of to.
func (r *Report) WriteText(to io.Writer) error {
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
	for _, set := range r.Sets {
		c := set.CCE
		_, _ = fmt.Fprintf(
			out, "\nCCE of %s against %s: p %.4f; behind each domain's best granularity by %.1f on average\n",
			strings.Join(set.Among, ", "), r.Best, set.P, 100*set.Regret,
		)
		_, _ = fmt.Fprintf(
			out, "temperature by golden section %.4f: ECE %.3f on other folds; at %.1f: %.3f\n", c.Temperature, c.ECE,
			c.Uncalibrated.Temperature, c.Uncalibrated.ECE,
		)
		writeDescent(out, "gradient descent as printed", set.Printed)
		writeDescent(out, "with back-tracking", set.Backtracking)
		_, _ = fmt.Fprintln(out, "confidence, and how often it was right, by tenth:")
		for _, b := range c.Reliability {
			_, _ = fmt.Fprintf(out, "  %.2f  %.2f  of %d\n", b.Confidence, b.Accuracy, b.Questions)
		}
	}
	return out.Flush()
}

// shownSteps is the number of steps of a descent that are shown.
const shownSteps = 6

// writeDescent writes one line: the temperatures of the first shownSteps steps and of the last, and the squared ECE
// at the end. d must have at least one step.
func writeDescent(out io.Writer, name string, d Descent) {
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

// mean returns the arithmetic mean of values; NaN if there are none.
func mean(values []float64) float64 {
	sum := 0.0
	for _, x := range values {
		sum += x
	}
	return sum / float64(len(values))
}
