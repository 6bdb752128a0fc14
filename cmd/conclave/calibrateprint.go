package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"conclave/calibration"
)

// printCalibration shows what the methods are worth, and the answer's confidence; the
// rest is in the JSON.
func printCalibration(out io.Writer, r *calibration.Report) {
	_, _ = fmt.Fprintf(out, "%s, answered by what was fitted on others\n\n", plural(int64(r.Questions), "question"))
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "method\ttop-1\t95 of 100 times in\ttop-5\ttop-20\ttop-100\t")
	for _, m := range r.Methods {
		_, _ = fmt.Fprintf(t, "%s\t%.1f\t%.1f to %.1f\t%.1f\t%.1f\t%.1f\t\n", m.Method, 100*m.Top1, 100*m.Top1Interval[0], 100*m.Top1Interval[1], 100*m.Top5, 100*m.Top20, 100*m.Top100)
	}
	_ = t.Flush()
	c, given := r.Chances[0], ""
	if n := r.Without - r.Questions; n > 0 {
		given = fmt.Sprintf(", and %d unanswerable ones of the files", n)
	}
	area := "-" // all answers are right, or all wrong
	if c.AUROC != nil {
		area = fmt.Sprintf("%.3f", *c.AUROC)
	}
	_, _ = fmt.Fprintf(out, "\nconfidence of the gate's first passage, over these questions and %d without an answer\n(the same, their passages taken out%s): ECE %.3f, AUROC %s.\nWith \"min_confidence\": 0.5, %.1f of 100 right first passages are given, and %.1f of 100\nquestions without an answer get none. Of the surest half of these, %.1f are right.\n",
		r.Without, given, c.ECE, area, 100*c.Given, 100*c.Silent, 100*c.SurestHalf)
	for _, warning := range r.Warnings {
		_, _ = fmt.Fprintf(out, "\n%s\n", warning)
	}
}
