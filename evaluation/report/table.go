package report

import (
	"fmt"
	"math"
	"strings"

	"example.org/conclave/evaluation"
)

// tableView is a table as the page shows it.
type tableView struct {
	Name      string
	Questions string
	Open      bool
	Headings  []heading
	Rows      []rowView
}

// heading is the heading of a column with its explanation.
type heading struct{ Text, Meaning string }

// rowView is a row of a table as the page shows it.
type rowView struct {
	Method, Kind string
	Reference    bool
	Cells        []cellView
}

// cellView is a cell of a table as the page shows it.
type cellView struct {
	Text, Chance string
	Class        string // "best", and "up" or "down" for a significant difference
	Shade        string // opacity of the ground
	Sort         string // what the script sorts by
}

// significant is the level below which a difference gets an arrow.
const significant = 0.05

// newTableView returns a table as the page shows it: a column for each metric that a row has a value of and, if single
// requests were timed, columns for their times.
func newTableView(report *evaluation.Report, t *evaluation.Table, open bool) tableView {
	reference := report.Reference
	v := tableView{Name: t.Name, Questions: thousands(t.Questions), Open: open}
	var metrics []evaluation.Metric
	for _, m := range report.Columns() {
		for i := range t.Rows {
			if hasValue(&t.Rows[i], m.Key) {
				metrics = append(metrics, m)
				v.Headings = append(
					v.Headings, heading{strings.ReplaceAll(m.Heading, "-", "\u2011"), m.Meaning},
				) // a hyphen that does not break lines
				break
			}
		}
	}
	timed := false
	for i := range t.Rows {
		timed = timed || t.Rows[i].Latency != nil
	}
	if timed {
		for _, share := range []string{"p50", "p95", "p99"} {
			v.Headings = append(
				v.Headings,
				heading{
					share + " ms",
					"milliseconds that " + share[1:] + " of 100 single requests stayed below, one at a time, in the process",
				},
			)
		}
	}
	base := rowOf(t, reference)
	if base == nil {
		reference = ""
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		row := rowView{Method: r.Method, Kind: string(r.Kind), Reference: r.Method == reference}
		for _, m := range metrics {
			row.Cells = append(row.Cells, newCell(t, r, base, m))
		}
		if timed {
			row.Cells = append(row.Cells, latencyCells(r.Latency)...)
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

// newCell returns the cell of a row for a metric; "–" if it has no value. base is the reference's row, which the row
// was tested against.
func newCell(t *evaluation.Table, r, base *evaluation.Row, m evaluation.Metric) cellView {
	value, ok := r.Values[m.Key]
	if !ok {
		return cellView{Text: "–", Sort: "-1"}
	}
	low, high := measureRange(t, m.Key)
	c := cellView{Text: fmt.Sprintf("%.1f", 100*value), Sort: fmt.Sprint(value), Shade: "0"}
	if m.Key == "ece" || m.Key == "auroc" {
		c.Text = fmt.Sprintf("%.3f", value)
	}
	good := value - low
	goodest := high
	if m.Lower {
		good = high - value
		goodest = low
	}
	if high > low {
		c.Shade = fmt.Sprintf("%.3f", 0.32*math.Pow(min(max(good/(high-low), 0), 1), 1.5)) // an oracle may be outside
	}
	var classes []string
	if value == goodest && r.Kind != evaluation.KindOracle {
		classes = append(classes, "best")
	}
	if p, tested := r.P[m.Key]; tested {
		c.Chance = strings.TrimPrefix(fmt.Sprintf("%.3f", p), "0")
		if p < 0.001 {
			c.Chance = "<.001"
		}
		switch was := base.Values[m.Key]; {
		case p >= significant:
		case value > was:
			classes = append(classes, "up")
		default:
			classes = append(classes, "down")
		}
	}
	c.Class = strings.Join(classes, " ")
	return c
}

// measureRange returns the lowest and the highest value of a measure in a table, without the oracles. Without values
// they are infinite.
func measureRange(t *evaluation.Table, key string) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i := range t.Rows {
		if v, ok := t.Rows[i].Values[key]; ok && t.Rows[i].Kind != evaluation.KindOracle {
			low = min(low, v)
			high = max(high, v)
		}
	}
	return low, high
}

// latencyCells returns the cells of the three percentiles of the times; "–" for nil.
func latencyCells(l *evaluation.Latency) []cellView {
	if l == nil {
		return []cellView{{Text: "–", Sort: "-1"}, {Text: "–", Sort: "-1"}, {Text: "–", Sort: "-1"}}
	}
	var out []cellView
	for _, ms := range []float64{l.P50, l.P95, l.P99} {
		out = append(out, cellView{Text: fmt.Sprintf("%.1f", ms), Sort: fmt.Sprint(ms), Shade: "0"})
	}
	return out
}
