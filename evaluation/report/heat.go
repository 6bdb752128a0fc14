package report

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"example.org/conclave/evaluation"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// heat is a heat map: a table whose rows are domains and whose columns are
// sources.
type heat struct {
	Caption string
	Columns []string
	Rows    []heatRow
}

// heatRow is a row of a heat map: a domain.
type heatRow struct {
	Domain string
	Cells  []heatCell
}

// heatCell is a cell of a heat map.
type heatCell struct {
	Shade float64 // 0 to 1
	Text  string  // "" for nothing known
	Small string  // under it
	Own   bool    // an outline: the domain's own expert
}

// Dark reports whether the cell's shade is so strong that its figures need the colour for dark backgrounds.
func (c heatCell) Dark() bool { return c.Shade > 0.7 }

// domainTable returns the table of a domain; nil if the report has none.
func domainTable(r *evaluation.Report, d evaluation.DomainInfo) *evaluation.Table {
	for i := range r.Tables {
		if t := &r.Tables[i]; t.Scope == evaluation.ScopeDomain && (t.Name == d.Name || len(r.Domains) == 1) {
			return t
		}
	}
	return nil
}

// domainName returns a domain's name, or "all questions" if it has none.
func domainName(d evaluation.DomainInfo) string {
	if d.Name == "" {
		return "all questions"
	}
	return d.Name
}

// sourcesByDomain returns the heat map of how well each source does in each domain, shaded within the domain. It is
// empty with fewer than two sources; domains without a table are left out.
func sourcesByDomain(r *evaluation.Report) (h heat) {
	for _, m := range r.Methods {
		if m.Kind == evaluation.KindSource {
			h.Columns = append(h.Columns, m.Source)
		}
	}
	if len(h.Columns) < 2 {
		return heat{}
	}
	for _, d := range r.Domains {
		t := domainTable(r, d)
		if t == nil {
			continue
		}
		first, twenty := accuracyKey(t, 1), accuracyKey(t, 20)
		var cells []heatCell
		low, high := 1.0, 0.0
		for _, name := range h.Columns {
			row := rowOf(t, name+" alone")
			low = min(low, row.Values[first])
			high = max(high, row.Values[first])
			cells = append(
				cells,
				heatCell{
					Shade: row.Values[first],
					Text:  fmt.Sprintf("%.1f", 100*row.Values[first]),
					Small: fmt.Sprintf("%.1f", 100*row.Values[twenty]),
					Own:   name == d.Expert,
				},
			)
		}
		for i := range cells {
			if high > low {
				cells[i].Shade = (cells[i].Shade - low) / (high - low)
			}
		}
		h.Rows = append(h.Rows, heatRow{domainName(d), cells})
	}
	return h
}

// weightsByDomain returns a heat map of the mean weights for each fusion that weighs the sources anew for each
// question; one map for all that give the same weights. The experts are shaded by their share of the experts' weight;
// the weights of BM25, phrases, nearness and late interaction belong to other scales of scores and are not shaded.
func weightsByDomain(r *evaluation.Report) (maps []heat) {
	for _, m := range r.Methods {
		h := heat{Caption: m.Name, Columns: weighedSources(r, m.Name)}
		if len(h.Columns) < 2 {
			continue
		}
		for _, d := range r.Domains {
			h.Rows = append(h.Rows, heatRow{domainName(d), weightCells(r, d, m.Name, h.Columns)})
		}
		same := slices.IndexFunc(maps, func(other heat) bool {
			return slices.Equal(other.Columns, h.Columns) && reflect.DeepEqual(other.Rows, h.Rows)
		})
		if same >= 0 {
			maps[same].Caption += " · " + m.Name
			continue
		}
		maps = append(maps, h)
	}
	return maps
}

// weightCells returns a cell with the mean weight of each source, by a method for the questions of a domain. The shade
// of an expert's cell is its share of the experts' weights.
func weightCells(r *evaluation.Report, d evaluation.DomainInfo, method string, columns []string) []heatCell {
	sum := 0.0
	for _, name := range columns {
		if isExpert(r, name) {
			sum += d.Weights[method][name]
		}
	}
	var cells []heatCell
	for _, name := range columns {
		w := d.Weights[method][name]
		cell := heatCell{Text: fmt.Sprintf("%.3g", w), Own: name == d.Expert}
		if isExpert(r, name) && sum > 0 {
			cell.Shade = w / sum
		}
		cells = append(cells, cell)
	}
	return cells
}

// isExpert reports whether a source is one of the experts that search.
func isExpert(r *evaluation.Report, source string) bool {
	return slices.ContainsFunc(r.Experts, func(x learned.ExpertInfo) bool { return x.Name == source })
}

// weighedSources returns the sources that a method weighs, in the report's order; none if it gives the same weights to
// all questions.
func weighedSources(r *evaluation.Report, method string) []string {
	var columns []string
	differ := false
	names := []string{}
	for _, x := range r.Experts {
		names = append(names, x.Name)
	}
	names = append(names, reply.WordSource, reply.PhraseSource, reply.NearSource)
	for _, d := range r.Domains { // and late interaction, under its own name
		for _, name := range slices.Sorted(maps.Keys(d.Weights[method])) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		var values []float64
		for _, d := range r.Domains {
			if w, ok := d.Weights[method][name]; ok {
				values = append(values, w)
			}
		}
		if len(values) == 0 {
			continue
		}
		columns = append(columns, name)
		differ = differ || slices.Max(values)-slices.Min(values) > 1e-6
	}
	if !differ {
		return nil
	}
	return columns
}
