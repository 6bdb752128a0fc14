// Package report writes an evaluation as one HTML page that needs nothing else:
// tables, and plots as SVG inside the page. It follows the reader's choice of
// light or dark, can be read without scripts, and prints.
package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"example.org/conclave/evaluation"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// reportPage is what the template of the page is filled with.
type reportPage struct {
	Report   *evaluation.Report
	CSS      template.CSS
	JS       template.JS
	Title    string
	Lead     string
	Tiles    []tile
	Tables   []tableView
	Curves   chartView
	Coverage chartView
	Reliable chartView
	Sources  heat // accuracy of the sources by domain
	Weights  []heat
	Experts  []expertView
	Meanings []meaning
	Methods  []meaning
}

// tile is one figure at the head of the page.
type tile struct{ Label, Method, Value, Note string }

// meaning is a name with its explanation.
type meaning struct{ Name, Text string }

// expertView describes an expert on the page.
type expertView struct{ Name, Kind, Passages, Recall, Confidence string }

// Write writes a report as an HTML page. It fails if the report has no tables, or with the first error of w.
func Write(w io.Writer, r *evaluation.Report) error {
	if len(r.Tables) == 0 || len(r.Tables[0].Rows) == 0 {
		return fmt.Errorf("the report has no tables")
	}
	p := reportPage{
		Report: r,
		CSS:    template.CSS(pageCSS),
		JS:     template.JS(pageJS),
		Title:  "Evaluation of " + r.Collection,
		Lead:   leadText(r),
	}
	p.Tiles = headlineTiles(r)
	for i := range r.Tables {
		p.Tables = append(p.Tables, newTableView(r, &r.Tables[i], i < 2))
	}
	order := orderMethods(r)
	p.Curves = accuracyCurves(r, order)
	p.Coverage = coverageCurves(r, order)
	p.Reliable = reliabilityCurves(r, order)
	p.Sources = sourcesByDomain(r)
	p.Weights = weightsByDomain(r)
	p.Experts = describeExperts(r)
	for _, m := range r.Columns() {
		p.Meanings = append(p.Meanings, meaning{m.Heading, m.Meaning})
	}
	for _, m := range r.Methods {
		p.Methods = append(p.Methods, meaning{m.Name, describeMethod(m)})
	}
	page, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return err
	}
	return page.Execute(w, p)
}

// leadText returns the sentence on how much was measured.
func leadText(r *evaluation.Report) string {
	questions := 0
	for _, d := range r.Domains {
		questions += d.Questions
	}
	text := fmt.Sprintf("%s questions", thousands(questions))
	if len(r.Domains) > 1 {
		text += fmt.Sprintf(" of %d domains", len(r.Domains))
	}
	text += fmt.Sprintf(
		", asked of %s passages; every method from one pass of encoding and search, %d results deep",
		thousands(r.Passages), r.Depth,
	)
	if r.Exact {
		text += ", compared with every vector"
	}
	return text + "."
}

// thousands returns a number with thin spaces between thousands.
func thousands(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "\u202f" + digits[i:]
	}
	return digits
}

// accuracyKey returns the key of the accuracy at k of a table: by judgements where it has them, else by answers. It may
// be that of no column.
func accuracyKey(t *evaluation.Table, k int) string {
	for i := range t.Rows {
		if key := fmt.Sprintf("top%d", k); hasValue(&t.Rows[i], key) {
			return key
		}
	}
	return fmt.Sprintf("answer%d", k)
}

// hasValue reports whether a row has a value of a metric.
func hasValue(r *evaluation.Row, key string) bool { _, ok := r.Values[key]; return ok }

// bestRow returns the row with the highest accuracy at 1 among rows of some kinds, and of equal ones the one with the
// highest at 20; nil if there is none.
func bestRow(t *evaluation.Table, kinds ...evaluation.MethodKind) *evaluation.Row {
	var out *evaluation.Row
	first, twenty := accuracyKey(t, 1), accuracyKey(t, 20)
	for i := range t.Rows {
		r := &t.Rows[i]
		if !slices.Contains(kinds, r.Kind) {
			continue
		}
		if out == nil || r.Values[first] > out.Values[first] ||
			r.Values[first] == out.Values[first] && r.Values[twenty] > out.Values[twenty] {
			out = r
		}
	}
	return out
}

// rowOf returns the row of a method; nil if the table has none.
func rowOf(t *evaluation.Table, method string) *evaluation.Row {
	for i := range t.Rows {
		if t.Rows[i].Method == method {
			return &t.Rows[i]
		}
	}
	return nil
}

// headlineTiles returns the figures at the top of the page: those of the reference, the best fusion, the best source
// and the oracles, where the report has them.
func headlineTiles(r *evaluation.Report) []tile {
	t := &r.Tables[0]
	first, twenty := accuracyKey(t, 1), accuracyKey(t, 20)
	var out []tile
	add := func(label string, row *evaluation.Row) {
		if row == nil {
			return
		}
		note := "top-1 · top-20"
		if first == "answer1" {
			note = "answer in the first · in twenty"
		}
		out = append(
			out,
			tile{label, row.Method, fmt.Sprintf("%.1f · %.1f", 100*row.Values[first], 100*row.Values[twenty]), note},
		)
	}
	reference := rowOf(t, r.Reference)
	bestFusion := bestRow(t, evaluation.KindFusion, evaluation.KindComparison)
	if reference != nil {
		add("reference", reference)
	}
	if bestFusion != nil && (reference == nil || bestFusion.Method != reference.Method) {
		add("best fusion", bestFusion)
	}
	add("best source alone", bestRow(t, evaluation.KindSource))
	add("oracle", rowOf(t, evaluation.OracleIndicator))
	add("oracle", rowOf(t, evaluation.OracleExpert))
	return out
}

// orderMethods returns the order of the methods in the plots, with those first that people look for, and how many of
// them a plot shows before others are switched on.
func orderMethods(r *evaluation.Report) (out order) {
	t := &r.Tables[0]
	add := func(row *evaluation.Row) {
		if row != nil && !slices.Contains(out.methods, row.Method) {
			out.methods = append(out.methods, row.Method)
		}
	}
	add(rowOf(t, r.Reference))
	add(bestRow(t, evaluation.KindFusion))
	add(bestRow(t, evaluation.KindComparison))
	add(bestRow(t, evaluation.KindSource))
	for _, name := range []string{"bm25 alone", "base alone", "rrf", evaluation.OracleIndicator, evaluation.OracleExpert} {
		add(rowOf(t, name))
	}
	out.shown = min(len(out.methods), lineColours)
	for i := range t.Rows {
		add(&t.Rows[i])
	}
	return out
}

// order is the order of the methods in the plots, and how many of them are visible at first.
type order struct {
	methods []string
	shown   int
}

// describeExperts returns for each expert what the page shows: vectors, passages, recall ("" if it was not measured),
// and how its confidence is calibrated ("none").
func describeExperts(r *evaluation.Report) []expertView {
	var out []expertView
	for _, x := range r.Experts {
		v := expertView{
			Name:     x.Name,
			Kind:     fmt.Sprintf("%d dimensions, %s, %s", x.Dimension, x.Precision, x.Index),
			Passages: thousands(x.Passages),
		}
		if recall, ok := x.Recall["recall@10"]; ok && recall > 0 {
			v.Recall = fmt.Sprintf("%.4f", recall)
		}
		v.Confidence = "none"
		if x.Calibration != nil && x.EnsembleMembers > 1 {
			v.Confidence = fmt.Sprintf(
				"%d members, τ %.4g, calibrated on %s", x.EnsembleMembers, x.Calibration.Temperature,
				x.Calibration.Questions,
			)
		}
		out = append(out, v)
	}
	return out
}

// describeMethod returns a text without a full stop on how a method ranks, such as "fusion rrf; all experts; without
// BM25".
func describeMethod(m evaluation.Method) string {
	switch {
	case m.Name == evaluation.OracleIndicator:
		return "the ranking of the expert of the question's own domain: what knowing the domain would give"
	case m.Name == evaluation.OracleExpert:
		return "for each question the expert that ranks a relevant passage highest: no choice of one expert can do better"
	case m.Name == evaluation.OracleSource:
		return "the same with BM25 among those to choose from"
	case m.Kind == evaluation.KindSource:
		return "its own ranking"
	}
	r := m.Request
	parts := []string{"fusion " + strings.Join(r.Fusion.Names, ",")}
	switch {
	case r.Experts == nil:
		parts = append(parts, "all experts")
	case len(*r.Experts) == 0:
		parts = append(parts, "no expert")
	default:
		parts = append(parts, "experts "+strings.Join(*r.Experts, ", "))
	}
	if r.BM25 != nil && !*r.BM25 {
		parts = append(parts, "without BM25")
	}
	for _, name := range sortedKeys(r.Weights) {
		parts = append(parts, fmt.Sprintf("%s × %g", name, r.Weights[name]))
	}
	if r.Normalisation != "" {
		parts = append(parts, "scores: "+r.Normalisation)
	}
	if r.Missing != "" {
		parts = append(parts, "missing scores: "+r.Missing)
	}
	return strings.Join(parts, "; ")
}
