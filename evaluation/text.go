package evaluation

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// textColumns is how wide the table for people is at most.
const textColumns = 100

// WriteText writes the report's head, its notes, and one table of all questions together for people: percent for
// accuracies, a p-value after each measure that was tested, milliseconds for times. It leaves out the tables of single
// domains, which the page and the JSON have. It returns the first error of out.
func (r *Report) WriteText(out io.Writer) error {
	w := &textWriter{out: out}
	w.printf(
		"%s: %s, %s of %s\n", r.Collection, countOf(r.Passages, "passage"), countOf(r.countQuestions(), "question"),
		countOf(len(r.Domains), "domain"),
	)
	if r.Reference != "" {
		w.writeParagraph(
			fmt.Sprintf("p: against %q, paired randomisation, two-sided, not corrected for the number of methods", r.Reference),
		)
	}
	for _, note := range r.Notes {
		w.writeParagraph(note)
	}
	if len(r.Tables) > 0 {
		w.writeTable(r, &r.Tables[0])
	}
	return w.err
}

// countOf returns n and a noun, in the plural unless n is 1, such as "1 domain" or "2 domains".
func countOf(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// writeParagraph writes a text broken into lines of at most textColumns characters; lines after the first are indented.
func (w *textWriter) writeParagraph(text string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > textColumns {
			w.printf("%s\n", line)
			line = " "
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	w.printf("%s\n", line)
}

// textWriter writes text until the first error, which it keeps.
type textWriter struct {
	out io.Writer
	err error
}

// printf writes formatted text, unless an error occurred before.
func (w *textWriter) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.out, format, args...)
	}
}

// shownKeys returns the keys of the metrics in the table for people: those by judgements or, if no question is judged,
// by answers.
func shownKeys(t *Table) []string {
	judged := slices.ContainsFunc(t.Rows, func(r Row) bool { _, ok := r.Values["top1"]; return ok })
	if judged {
		return []string{"top1", "top5", "top20", "top100", "ndcg10", "auroc"}
	}
	return []string{"answer1", "answer5", "answer20", "answer100", "auroc"}
}

// longestName is the number of characters of a method's name that fit next to the columns.
const longestName = 38

// writeTable writes the rows of t as a table of text: a line for each method, and columns for the metrics of shownKeys
// and of r.Asked, their p values, and the median latency. It leaves out columns that are empty in all rows, and writes
// nothing if all are or an earlier write failed. A failure is kept in w.err.
func (w *textWriter) writeTable(r *Report, t *Table) {
	var headings []string
	cells := make([][]string, len(t.Rows))
	add := func(heading string, cell func(*Row) string) {
		column := make([]string, len(t.Rows))
		for i := range t.Rows {
			column[i] = cmp.Or(cell(&t.Rows[i]), "–")
		}
		if slices.ContainsFunc(column, func(cell string) bool { return cell != "–" }) {
			headings = append(headings, heading)
			for i, cell := range column {
				cells[i] = append(cells[i], cell)
			}
		}
	}
	keys := shownKeys(t)
	for _, m := range r.Asked {
		keys = append(keys, m.Key)
	}
	for _, m := range r.Columns() {
		if !slices.Contains(keys, m.Key) {
			continue
		}
		add(m.Heading, func(r *Row) string { return formatMeasure(r, m) })
		if m.Tested && m.Key != "top20" && m.Key != "answer20" {
			add("p", func(row *Row) string { return formatPValue(row, m.Key, r.Reference) })
		}
	}
	add("p50 ms", func(r *Row) string {
		if r.Latency == nil {
			return ""
		}
		return fmt.Sprintf("%.1f", r.Latency.P50)
	})
	if len(headings) == 0 || w.err != nil {
		return
	}
	w.printf("\n")
	title := fmt.Sprintf("%s (%d)", t.Name, t.Questions)
	width := len([]rune(title))
	for _, r := range t.Rows {
		width = max(width, len([]rune(r.Method)))
	}
	width = min(width, longestName)
	table := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(first string, cells []string) {
		if name := []rune(first); len(name) > width {
			first = string(name[:width-1]) + "…"
		}
		_, _ = fmt.Fprintf(table, "%-*s\t%s\t\n", width, first, strings.Join(cells, "\t"))
	}
	line(title, headings)
	for i, r := range t.Rows {
		line(r.Method, cells[i])
	}
	w.err = table.Flush() // errors of the writer come out here
}

// formatMeasure returns a row's value of a metric as the tables show it; "" if it has none.
func formatMeasure(r *Row, m Metric) string {
	v, ok := r.Values[m.Key]
	switch {
	case !ok:
		return ""
	case m.Key == "ece" || m.Key == "auroc":
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.1f", 100*v)
}

// formatPValue returns a p-value as the tables show it: "ref" for the reference itself, and "" if there is none.
func formatPValue(r *Row, key, reference string) string {
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
