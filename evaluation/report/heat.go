package report

import (
	"fmt"
	"html"
	"html/template"
	"maps"
	"slices"
	"strings"

	"conclave/evaluation"
	"conclave/search"
)

// heat is a heat map: rows are domains, columns are sources.
type heat struct {
	id, title     string
	rows, columns []string
	cells         [][]heatCell
}

type heatCell struct {
	shade  float64 // 0 to 1
	text   string  // "" for nothing known
	small  string  // under it
	marked bool    // an outline: the domain's own expert
}

// Measures of a heat map, in pixels.
const (
	cellWidth, cellHeight = 66.0, 40.0
	letterWidth           = 6.2 // of a label, about

	// onAccent is the shade above which figures have the colour that stands out
	// on the full one: there both have about the same contrast.
	onAccent = 0.7
)

func (h heat) draw() template.HTML {
	if len(h.rows) == 0 || len(h.columns) == 0 {
		return ""
	}
	left := 20.0
	for _, name := range h.rows {
		left = max(left, letterWidth*float64(len([]rune(name)))+14)
	}
	slanted := false
	longest := 0
	for _, name := range h.columns {
		longest = max(longest, len([]rune(name)))
		slanted = slanted || letterWidth*float64(len([]rune(name))) > cellWidth-6
	}
	top, right := 30.0, 8.0
	if slanted {
		top = 24 + 0.6*letterWidth*float64(longest)
		right = 0.8*letterWidth*float64(longest) - cellWidth/2
	}
	right = max(right, 8)
	width, height := left+cellWidth*float64(len(h.columns))+right, top+cellHeight*float64(len(h.rows))+6
	var svg strings.Builder
	put := func(format string, values ...any) { fmt.Fprintf(&svg, format+"\n", values...) }
	put(`<svg class="heat" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-labelledby="%s-title">`, width, height, width, height, h.id)
	put(`<title id="%s-title">%s</title>`, h.id, html.EscapeString(h.title))
	for c, name := range h.columns {
		x := left + cellWidth*(float64(c)+0.5)
		if slanted {
			put(`<text transform="translate(%.1f %.1f) rotate(-36)">%s</text>`, x-6, top-8, html.EscapeString(name))
		} else {
			put(`<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, x, top-9, html.EscapeString(name))
		}
	}
	for i, name := range h.rows {
		y := top + cellHeight*float64(i)
		put(`<text x="%.1f" y="%.1f" text-anchor="end">%s</text>`, left-9, y+cellHeight/2+4, html.EscapeString(name))
		for c, cell := range h.cells[i] {
			x := left + cellWidth*float64(c)
			put(`<g><title>%s</title>`, html.EscapeString(strings.TrimSpace(fmt.Sprintf("%s, %s: %s %s", name, h.columns[c], cell.text, cell.small))))
			put(`<rect class="cell" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="3" fill-opacity="%.3f"/>`, x+1, y+1, cellWidth-2, cellHeight-2, 0.05+0.9*min(max(cell.shade, 0), 1))
			if cell.marked {
				put(`<rect class="mark" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="4"/>`, x+1.5, y+1.5, cellWidth-3, cellHeight-3)
			}
			on := ""
			if cell.shade > onAccent {
				on = " on"
			}
			at := y + cellHeight/2 + 4
			if cell.small != "" {
				at -= 6
				put(`<text class="small%s" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, on, x+cellWidth/2, at+14, html.EscapeString(cell.small))
			}
			put(`<text class="value%s" x="%.1f" y="%.1f" text-anchor="middle">%s</text></g>`, on, x+cellWidth/2, at, html.EscapeString(cell.text))
		}
	}
	put(`</svg>`)
	return template.HTML(svg.String())
}

// domainTable is the table of a domain.
func domainTable(r *evaluation.Report, d evaluation.DomainInfo) *evaluation.Table {
	for i := range r.Tables {
		if t := &r.Tables[i]; t.Scope == evaluation.ScopeDomain && (t.Name == d.Name || len(r.Domains) == 1) {
			return t
		}
	}
	return nil
}

func domainName(d evaluation.DomainInfo) string {
	if d.Name == "" {
		return "all questions"
	}
	return d.Name
}

// sourcesByDomain is how well each source does in each domain, shaded within
// the domain, so that the eye finds who is best where.
func sourcesByDomain(r *evaluation.Report) template.HTML {
	h := heat{id: "sources", title: "Accuracy of each source alone in each domain, top-1 above top-20"}
	for _, m := range r.Methods {
		if m.Kind == evaluation.KindSource {
			h.columns = append(h.columns, m.Source)
		}
	}
	if len(h.columns) < 2 {
		return ""
	}
	for _, d := range r.Domains {
		t := domainTable(r, d)
		if t == nil {
			continue
		}
		first, twenty := accuracy(t, 1), accuracy(t, 20)
		var cells []heatCell
		low, high := 1.0, 0.0
		for _, name := range h.columns {
			row := rowOf(t, name+" alone")
			low, high = min(low, row.Values[first]), max(high, row.Values[first])
			cells = append(cells, heatCell{shade: row.Values[first], text: fmt.Sprintf("%.1f", 100*row.Values[first]), small: fmt.Sprintf("%.1f", 100*row.Values[twenty]), marked: name == d.Expert})
		}
		for i := range cells {
			if high > low {
				cells[i].shade = (cells[i].shade - low) / (high - low)
			}
		}
		h.rows, h.cells = append(h.rows, domainName(d)), append(h.cells, cells)
	}
	return h.draw()
}

// sureByDomain is the mean confidence of each expert in each domain.
func sureByDomain(r *evaluation.Report) template.HTML {
	h := heat{id: "sure", title: "Mean confidence of each expert in each domain"}
	for _, x := range r.Experts {
		for _, d := range r.Domains {
			if _, ok := d.Sure[x.Name]; ok {
				h.columns = append(h.columns, x.Name)
				break
			}
		}
	}
	for _, d := range r.Domains {
		var cells []heatCell
		for _, name := range h.columns {
			cell := heatCell{marked: name == d.Expert}
			if sure, ok := d.Sure[name]; ok {
				cell.shade, cell.text = sure, fmt.Sprintf("%.2f", sure)
			}
			cells = append(cells, cell)
		}
		h.rows, h.cells = append(h.rows, domainName(d)), append(h.cells, cells)
	}
	return h.draw()
}

// weightsByDomain are the mean weights of the fusions that weigh the sources
// anew for each question; one map for all that give the same weights. The
// experts are shaded by their share of the experts' weight; the weights of BM25,
// phrases and late interaction belong to other scales of scores and are not
// shaded.
func weightsByDomain(r *evaluation.Report) []template.HTML {
	var maps []heat
	var captions []string
	for n, m := range r.Methods {
		columns := weighted(r, m.Name)
		if len(columns) < 2 {
			continue
		}
		h := heat{id: fmt.Sprintf("weights-%d", n), columns: columns}
		for _, d := range r.Domains {
			h.rows, h.cells = append(h.rows, domainName(d)), append(h.cells, weightCells(r, d, m.Name, columns))
		}
		same := slices.IndexFunc(maps, func(other heat) bool {
			return slices.Equal(other.columns, h.columns) && slices.EqualFunc(other.cells, h.cells, slices.Equal[[]heatCell])
		})
		if same >= 0 {
			captions[same] += " · " + m.Name
			continue
		}
		maps, captions = append(maps, h), append(captions, m.Name)
	}
	var out []template.HTML
	for i, h := range maps {
		h.title = "Mean weights: " + captions[i]
		out = append(out, template.HTML(`<figure><figcaption>`+html.EscapeString(captions[i])+`</figcaption>`)+h.draw()+`</figure>`)
	}
	return out
}

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
		cell := heatCell{text: fmt.Sprintf("%.3g", w), marked: name == d.Expert}
		if isExpert(r, name) && sum > 0 {
			cell.shade = w / sum
		}
		cells = append(cells, cell)
	}
	return cells
}

// isExpert reports whether a source is one of the experts that search.
func isExpert(r *evaluation.Report, source string) bool {
	return slices.ContainsFunc(r.Experts, func(x search.ExpertInfo) bool { return x.Name == source })
}

// weighted are the sources that a method weighs, in the report's order; none
// when it gives the same weights everywhere.
func weighted(r *evaluation.Report, method string) []string {
	var columns []string
	differ := false
	names := []string{}
	for _, x := range r.Experts {
		names = append(names, x.Name)
	}
	names = append(names, search.WordSource, search.PhraseSource)
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
