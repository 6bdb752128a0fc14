package evaluation

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteText writes the tables for people: percent for accuracies, a p-value
// after each measure that was tested, milliseconds for times.
func (r *Report) WriteText(out io.Writer) error {
	w := &textWriter{out: out}
	w.printf("%s: %d passages, %d questions of %d domains, %d results deep\n", r.Collection, r.Passages, r.questions(), len(r.Domains), r.Depth)
	if r.Reference != "" {
		w.printf("p: against %q, paired randomisation, two-sided, not corrected for the number of methods\n", r.Reference)
	}
	for _, note := range r.Notes {
		w.printf("%s\n", note)
	}
	for i := range r.Tables {
		w.table(&r.Tables[i], r.Reference)
	}
	return w.err
}

type textWriter struct {
	out io.Writer
	err error
}

func (w *textWriter) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.out, format, args...)
	}
}

// column is a column of a text table; cell is "" where there is nothing.
type column struct {
	heading string
	cell    func(*Row) string
}

// table writes a table in blocks that fit a terminal; a block without anything
// in it is left out.
func (w *textWriter) table(t *Table, reference string) {
	var accuracy, rest []column
	for _, m := range Metrics() {
		value := column{m.Heading, func(r *Row) string { return percent(r, m) }}
		if m.of != nil && !m.answers {
			accuracy = append(accuracy, value)
			if m.Tested {
				accuracy = append(accuracy, column{"p", func(r *Row) string { return chance(r, m.Key, reference) }})
			}
			continue
		}
		rest = append(rest, value)
		if m.Tested {
			rest = append(rest, column{"p", func(r *Row) string { return chance(r, m.Key, reference) }})
		}
	}
	for _, q := range []struct {
		heading string
		of      func(*Latency) float64
	}{
		{"p50 ms", func(l *Latency) float64 { return l.P50 }},
		{"p95 ms", func(l *Latency) float64 { return l.P95 }},
		{"p99 ms", func(l *Latency) float64 { return l.P99 }},
	} {
		rest = append(rest, column{q.heading, func(r *Row) string {
			if r.Latency == nil {
				return ""
			}
			return fmt.Sprintf("%.1f", q.of(r.Latency))
		}})
	}
	title := fmt.Sprintf("%s (%d)", t.Name, t.Questions)
	for _, columns := range [][]column{accuracy, rest} {
		w.block(title, t.Rows, columns)
	}
}

func (w *textWriter) block(title string, rows []Row, columns []column) {
	var filled []column
	for _, c := range columns {
		for i := range rows {
			if c.cell(&rows[i]) != "" {
				filled = append(filled, c)
				break
			}
		}
	}
	if len(filled) == 0 || w.err != nil {
		return
	}
	w.printf("\n")
	table := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	width := len([]rune(title))
	for _, r := range rows {
		width = max(width, len([]rune(r.Method)))
	}
	line := func(first string, cells []string) {
		padded := first + strings.Repeat(" ", width-len([]rune(first)))
		_, _ = fmt.Fprintf(table, "%s\t%s\t\n", padded, strings.Join(cells, "\t"))
	}
	var headings []string
	for _, c := range filled {
		headings = append(headings, c.heading)
	}
	line(title, headings)
	for i := range rows {
		var cells []string
		for _, c := range filled {
			cell := c.cell(&rows[i])
			if cell == "" {
				cell = "–"
			}
			cells = append(cells, cell)
		}
		line(rows[i].Method, cells)
	}
	w.err = table.Flush() // errors of the writer come out here
}

// percent is a measure as the tables show it.
func percent(r *Row, m Metric) string {
	v, ok := r.Values[m.Key]
	switch {
	case !ok:
		return ""
	case m.Key == "ece" || m.Key == "auroc":
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.1f", 100*v)
}

// chance is a p-value as the tables show it; "ref" for the reference itself.
func chance(r *Row, key, reference string) string {
	if _, has := r.Values[key]; reference == "" || !has {
		return ""
	}
	if r.Method == reference {
		return "ref"
	}
	p, ok := r.P[key]
	switch {
	case !ok:
		return ""
	case p < 0.001:
		return "<.001"
	}
	return strings.TrimPrefix(fmt.Sprintf("%.3f", p), "0")
}
