package ablation

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteText writes the results as tables: top-1 / top-20 in percent, and the differences from each table's first row.
// It returns the error of to. It panics without a row of yardsticks.
func (r *Findings) WriteText(to io.Writer) error {
	out := bufio.NewWriter(to)
	_, _ = fmt.Fprintf(
		out, "%d questions; top-1 / top-20 in percent, the difference to the gate and its p-values\n\n", r.Questions,
	)
	first := &r.Yardsticks[0]
	printRows(out, "method", first, r.Yardsticks)
	printRows(out, "the gate", first, r.Without)
	if len(r.Familiar) > 0 {
		printRows(out, "specialists by question", first, r.Familiar)
	}
	if len(r.Oracles) > 0 {
		printRows(out, "oracles over the experts", first, r.Oracles)
	}
	if f := r.Foreign; f != nil {
		printTable(
			out,
			fmt.Sprintf(
				"%d questions, with foreign experts (%s)\twithout\twith\tdifference\tp", f.Questions,
				strings.Join(f.Experts, ", "),
			),
			func(t io.Writer) {
				printPair(t, "gate", &f.Gate)
				printPair(t, "mean of experts and words, best weight", &f.Fixed)
				printPair(t, "mean of experts", &f.Mean)
			},
		)
	}
	if len(r.Few) > 0 {
		printTable(
			out,
			"fitted on\tuncalibrated\tcalibrated\tdifference\tworst draw, of the sum\tECE\tAUROC",
			func(t io.Writer) {
				for _, f := range r.Few {
					_, _ = fmt.Fprintf(
						t, "%d questions (%d draws)\t%s\t%s\t%s\t%+.1f", f.Questions, f.Draws, pairOf(f.Before),
						pairOf(f.After), differenceOf(f.After, f.Before), 100*f.Worst,
					)
					if f.Fitted != nil {
						_, _ = fmt.Fprintf(
							t, "\t%.3f to %.3f\t%.3f to %.3f", f.Shipped.ECE, f.Fitted.ECE, f.Shipped.AUROC,
							f.Fitted.AUROC,
						)
					}
					_, _ = fmt.Fprintln(t)
				}
			},
		)
	}
	if len(r.HeldOut) > 0 {
		printTable(out, "an expert that joins\tbefore\tafter\tdifference\tp", func(t io.Writer) {
			for i := range r.HeldOut {
				h := &r.HeldOut[i]
				printPair(t, h.Expert+", own questions", &h.Own)
				printPair(t, h.Expert+", all others", &h.Others)
			}
		})
	}
	return out.Flush()
}

// printTable writes a table with aligned columns under a heading; rows writes its rows, with tabs between the cells.
func printTable(out io.Writer, heading string, rows func(t io.Writer)) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, heading)
	rows(t)
	_ = t.Flush()
	_, _ = fmt.Fprintln(out)
}

// printRows writes a table with a title of some rows, with the differences from first and their p-values where a row
// has these.
func printRows(out io.Writer, title string, first *Row, rows []Row) {
	printTable(out, title+"\tall\tmean over domains\tdifference\tp", func(t io.Writer) {
		for _, row := range rows {
			if row.Weight != nil {
				row.Name += fmt.Sprintf(" (%.3g)", *row.Weight)
			}
			_, _ = fmt.Fprintf(t, "%s\t%s\t%s", row.Name, pairOf(row.All), pairOf(row.Macro))
			if row.P != nil {
				_, _ = fmt.Fprintf(t, "\t%s\t%.4f / %.4f", differenceOf(row.All, first.All), row.P.Top1, row.P.Top20)
			}
			_, _ = fmt.Fprintln(t)
		}
	})
}

// printPair writes the line of a table for a result without and with something: both, their difference, and its
// p-values, which the second must have.
func printPair(out io.Writer, name string, pair *[2]Row) {
	_, _ = fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%.4f / %.4f\n", name, pairOf(pair[0].All), pairOf(pair[1].All),
		differenceOf(pair[1].All, pair[0].All), pair[1].P.Top1, pair[1].P.Top20)
}

// pairOf returns top-1 and top-20 in percent.
func pairOf(a Accuracies) string { return fmt.Sprintf("%.1f / %.1f", 100*a.Top1, 100*a.Top20) }

// differenceOf returns the differences of top-1 and top-20 in percentage points.
func differenceOf(a, b Accuracies) string {
	return fmt.Sprintf("%+.1f / %+.1f", 100*(a.Top1-b.Top1), 100*(a.Top20-b.Top20))
}
