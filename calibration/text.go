package calibration

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// WriteText writes the figures of the methods and of the answer's confidence, for people.
// The rest is in the JSON.
func (r *FitReport) WriteText(to io.Writer) error {
	out := bufio.NewWriter(to)
	_, _ = fmt.Fprintf(out, "%s, answered by what was fitted on others\n\n", questionsOf(r.Questions))
	t := newTable(out)
	_, _ = fmt.Fprintln(t, "method\ttop-1\t95 of 100 times in\ttop-5\ttop-20\ttop-100\t")
	for _, m := range r.Methods {
		_, _ = fmt.Fprintf(
			t,
			"%s\t%.1f\t%.1f to %.1f\t%.1f\t%.1f\t%.1f\t\n",
			m.Method,
			100*m.Top1,
			100*m.Top1Interval[0],
			100*m.Top1Interval[1],
			100*m.Top5,
			100*m.Top20,
			100*m.Top100,
		)
	}
	_ = t.Flush()
	c := r.Chances[0]
	_, _ = fmt.Fprintf(
		out,
		"\nconfidence of the gate's first passage, where half of the questions have no answer.\nOf the surest half of the others %.1f of 100 are right.\n\n",
		100*c.SurestHalf,
	)
	t = newTable(out)
	_, _ = fmt.Fprintln(t, "without an answer are\tECE\tAUROC\t")
	half := func(without string, h Half) {
		_, _ = fmt.Fprintf(t, "%s\t%.3f\t%s\t\n", without, h.ECE, areaOf(h.AUROC))
	}
	half("the same, their passages taken out", c.TakenOut)
	if c.Unanswerable != nil {
		half(fmt.Sprintf("the files' %d unanswerable ones", r.Unanswerable), *c.Unanswerable)
		half("both", c.Half)
	}
	_ = t.Flush()
	_, _ = fmt.Fprintln(out)
	writeThresholds(out, r.Thresholds)
	if r.CCE != nil {
		r.CCE.writeText(out)
	}
	if r.Reading != nil {
		_, _ = fmt.Fprintln(out)
		_ = r.Reading.WriteText(out)
	}
	for _, warning := range r.Warnings {
		_, _ = fmt.Fprintf(out, "\n%s\n", warning)
	}
	return out.Flush()
}

// areaOf returns an AUROC; "-" where all answers are right, or all wrong.
func areaOf(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *x)
}

// writeText says what each granularity is worth alone, and the surest of those chosen.
func (c *CCEReport) writeText(out io.Writer) {
	alone := slices.SortedFunc(maps.Keys(c.Alone), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.Alone[b], c.Alone[a]), cmp.Compare(a, b))
	})
	for i, name := range alone {
		alone[i] = fmt.Sprintf("%s %.1f", name, 100*c.Alone[name])
	}
	_, _ = fmt.Fprintf(
		out,
		"\ngranularities, and of how many of 100 questions each alone finds an answer first:\n%s\n",
		strings.Join(alone, ", "),
	)
	_, _ = fmt.Fprintf(out, "cce takes %s, at temperature %.3f.\n", strings.Join(c.Granularities, ", "), c.Temperature)
	_, _ = fmt.Fprintf(
		out,
		"The surest is right for %.1f; its confidence has an ECE of %.3f and an AUROC of %s\n(at temperature %.1f: right for %.1f, ECE %.3f).\n",
		100*c.Top1,
		c.ECE,
		areaOf(c.AUROC),
		c.Uncalibrated.Temperature,
		100*c.Uncalibrated.Top1,
		c.Uncalibrated.ECE,
	)
}

// writeThresholds shows what a "min_confidence" costs and gains, and names the highest that
// costs little.
func writeThresholds(out io.Writer, thresholds []Threshold) {
	t := newTable(out)
	heading := "min_confidence\tright first passages lost\tno result, answer taken out\t"
	if thresholds[0].Unanswerable != nil {
		heading += "no result, unanswerable\t"
	}
	_, _ = fmt.Fprintln(t, heading)
	for _, x := range thresholds {
		_, _ = fmt.Fprintf(t, "%.2f\t%.1f\t%.1f\t", x.MinConfidence, 100*x.Lost, 100*x.TakenOut)
		if x.Unanswerable != nil {
			_, _ = fmt.Fprintf(t, "%.1f\t", 100**x.Unanswerable)
		}
		_, _ = fmt.Fprintln(t)
	}
	_ = t.Flush()
	_, _ = fmt.Fprintf(
		out,
		"\nTo give no answer rather than a wrong one, ask with \"min_confidence\": %.2f.\n",
		chosen(thresholds).MinConfidence,
	)
}

// WritePriorText writes what a prior is worth in each domain, for people.
func WritePriorText(out io.Writer, domains []PriorDomain) error {
	t := newTable(out)
	_, _ = fmt.Fprintln(t, "left out\tquestions\tECE\tAUROC\t")
	for _, d := range domains {
		_, _ = fmt.Fprintf(t, "%s\t%d\t%.3f\t%.3f\t\n", d.Domain, d.Questions, d.ECE, d.AUROC)
	}
	return t.Flush()
}

// newTable returns a table of figures: its columns end at the right.
func newTable(out io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
}

func questionsOf(n int) string {
	if n == 1 {
		return "1 question"
	}
	return fmt.Sprintf("%d questions", n)
}
