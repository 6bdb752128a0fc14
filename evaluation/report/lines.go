package report

import (
	"fmt"
	"html"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"

	"example.org/conclave/evaluation"
)

// lineColours is how many colours the lines have; page.css names them.
const lineColours = 8

// chartView is a plot of lines with its legend.
type chartView struct {
	SVG  template.HTML
	Keys []legendKey
}

// legendKey is an entry of a plot's legend.
type legendKey struct {
	ID, Method, Value string
	Sample            template.HTML // a piece of the line
	Hidden            bool
}

// line is one line of a plot; x and y are in the units of the axes.
type line struct {
	method string
	kind   evaluation.MethodKind
	x, y   []float64
	value  string // for the legend
}

// axes are the axes of a plot of lines. x and y are from 0 to 1 after scaling; y is a share, shown in percent.
type axes struct {
	id, title, across, up string
	ticks                 []tick // of x, at their place from 0 to 1
	place                 func(x float64) float64
	diagonal              bool // the axes are the same shares, from 0 to 1, and their diagonal is drawn
}

// tick is a mark on an axis; at is its place from 0 to 1.
type tick struct {
	at    float64
	label string
}

// Measures of a plot, in pixels.
const (
	plotWidth, plotHeight                    = 640.0, 380.0
	plotLeft, plotRight, plotTop, plotBottom = 52.0, 12.0, 12.0, 44.0
)

// accuracyCurves returns the plot of the accuracy at k of every method. It shows the table of all questions, k from 1
// to the report's depth on a logarithmic axis.
func accuracyCurves(r *evaluation.Report, o order) chartView {
	t := &r.Tables[0]
	a := axes{
		id:     "acc",
		title:  "Accuracy at k",
		across: "k (first passages looked at, logarithmic)",
		up:     "questions with a right one, %",
		place:  func(k float64) float64 { return math.Log(k) / math.Log(max(float64(r.Depth), 2)) },
	}
	for _, k := range []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000} {
		if k <= r.Depth {
			a.ticks = append(a.ticks, tick{a.place(float64(k)), fmt.Sprint(k)})
		}
	}
	return a.drawLines(o.methodLines(t, func(row *evaluation.Row) line {
		l := line{
			y:     row.Curve,
			value: fmt.Sprintf("%.1f · %.1f", 100*row.Values[accuracyKey(t, 1)], 100*row.Values[accuracyKey(t, 20)]),
		}
		for k := range l.y {
			l.x = append(l.x, float64(k+1))
		}
		return l
	}), o.shown)
}

// methodLines returns the line of each method of a table, in the order. lineOf makes the line of a row; one without a
// point is left out.
func (o order) methodLines(t *evaluation.Table, lineOf func(row *evaluation.Row) line) (out []line) {
	for _, name := range o.methods {
		row := rowOf(t, name)
		if l := lineOf(row); len(l.x) > 0 {
			l.method = name
			l.kind = row.Kind
			out = append(out, l)
		}
	}
	return out
}

// coverageCurves returns the plot of the accuracy among the questions that are answered, against their share, for every
// method with a confidence.
func coverageCurves(r *evaluation.Report, o order) chartView {
	t := &r.Tables[0]
	a := axes{
		id:     "cov",
		title:  "Accuracy against coverage",
		across: "share of the questions that is answered, surest first, %",
		up:     "top-1 among those, %",
		ticks:  tenthTicks(),
		place:  func(x float64) float64 { return x },
	}
	return a.drawLines(o.methodLines(t, func(row *evaluation.Row) line {
		if row.Coverage == nil {
			return line{}
		}
		l := line{y: row.Coverage, value: fmt.Sprintf("%.1f → %.1f", 100*row.Coverage[9], 100*row.Values["surest_half"])}
		for tenth := range l.y {
			l.x = append(l.x, float64(tenth+1)/10)
		}
		return l
	}), lineColours)
}

// drawLines returns a plot of the lines, each of which has a point; an empty one without lines. Only the first shown
// ones are visible; the legend can show the others.
func (a axes) drawLines(lines []line, shown int) chartView {
	if len(lines) == 0 {
		return chartView{}
	}
	low, high := 1.0, 0.0
	for _, l := range lines {
		low = min(low, slices.Min(l.y))
		high = max(high, slices.Max(l.y))
	}
	step := niceStep(high - low)
	low = math.Max(0, math.Floor(low/step)*step)
	high = math.Min(1, math.Ceil(high/step)*step)
	if a.diagonal {
		low, high = 0, 1
	}
	if high <= low {
		low, high = max(0, high-step), min(1, low+step)
	}
	across := func(x float64) float64 { return plotLeft + (plotWidth-plotLeft-plotRight)*a.place(x) }
	up := func(y float64) float64 { return plotTop + (plotHeight-plotTop-plotBottom)*(high-y)/(high-low) }

	var svg strings.Builder
	put := func(format string, values ...any) { fmt.Fprintf(&svg, format+"\n", values...) }
	put(`<svg class="plot" viewBox="0 0 %g %g" role="img" aria-labelledby="%s-title">`, plotWidth, plotHeight, a.id)
	put(`<title id="%s-title">%s</title>`, a.id, html.EscapeString(a.title+": "+a.up+" against "+a.across))
	for y := low; y <= high+step/2; y += step {
		put(`<line class="grid" x1="%g" y1="%.1f" x2="%g" y2="%.1f"/>`, plotLeft, up(y), plotWidth-plotRight, up(y))
		put(`<text x="%g" y="%.1f" text-anchor="end">%.3g</text>`, plotLeft-7, up(y)+4, 100*y)
	}
	for _, tick := range a.ticks {
		x := plotLeft + (plotWidth-plotLeft-plotRight)*tick.at
		put(`<line class="grid" x1="%.1f" y1="%g" x2="%.1f" y2="%g"/>`, x, plotTop, x, plotHeight-plotBottom)
		put(`<text x="%.1f" y="%g" text-anchor="middle">%s</text>`, x, plotHeight-plotBottom+16, tick.label)
	}
	if a.diagonal {
		put(`<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, across(0), up(0), across(1), up(1))
	}
	put(
		`<text class="axis" x="%g" y="%g" text-anchor="middle">%s</text>`,
		(plotLeft+plotWidth-plotRight)/2,
		plotHeight-6,
		html.EscapeString(a.across),
	)
	put(
		`<text class="axis" transform="translate(13 %g) rotate(-90)" text-anchor="middle">%s</text>`,
		(plotTop+plotHeight-plotBottom)/2,
		html.EscapeString(a.up),
	)
	view := chartView{}
	for i := len(lines) - 1; i >= 0; i-- { // the first on top
		l := lines[i]
		var path strings.Builder
		for n := range l.x {
			command := " L"
			if n == 0 {
				command = "M"
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", command, across(l.x[n]), up(l.y[n]))
		}
		hidden := ""
		if i >= shown {
			hidden = " hidden"
		}
		put(
			`<path id="%s-%d" class="line c%d %s%s" d="%s"><title>%s</title></path>`,
			a.id,
			i,
			i%lineColours,
			l.kind,
			hidden,
			path.String(),
			html.EscapeString(l.method),
		)
	}
	put(`</svg>`)
	for i, l := range lines {
		sample := fmt.Sprintf(
			`<svg class="sample" viewBox="0 0 34 10" aria-hidden="true"><path class="line c%d %s" d="M1 5 L33 5"/></svg>`,
			i%lineColours,
			l.kind,
		)
		view.Keys = append(
			view.Keys,
			legendKey{
				ID:     fmt.Sprintf("%s-%d", a.id, i),
				Method: l.method,
				Value:  l.value,
				Sample: template.HTML(sample),
				Hidden: i >= shown,
			},
		)
	}
	view.SVG = template.HTML(svg.String())
	return view
}

// niceStep returns the distance of the ticks of an axis of this width: 1, 2 or 5 times a power of ten, so that there
// are four to ten.
func niceStep(width float64) float64 {
	if width <= 0 {
		return 0.1
	}
	power := math.Pow(10, math.Floor(math.Log10(width)))
	for _, factor := range []float64{0.1, 0.2, 0.5} {
		if width/(factor*power) <= 8 {
			return factor * power
		}
	}
	return power
}

// reliabilityCurves returns the plot of the accuracy at each level of confidence, for every method that has one.
func reliabilityCurves(r *evaluation.Report, o order) chartView {
	a := axes{
		id:       "rel",
		title:    "Reliability",
		across:   "confidence, % (mean of a tenth)",
		up:       "top-1, %",
		diagonal: true,
		ticks:    tenthTicks(),
		place:    func(x float64) float64 { return x },
	}
	return a.drawLines(o.methodLines(&r.Tables[0], func(row *evaluation.Row) line {
		l := line{value: fmt.Sprintf("ECE %.3f", row.Values["ece"])}
		for _, b := range row.Reliability {
			l.x, l.y = append(l.x, b.Confidence), append(l.y, b.Accuracy)
		}
		return l
	}), lineColours)
}

// tenthTicks returns the ticks of an axis of shares.
func tenthTicks() (ticks []tick) {
	for i := 0; i <= 10; i += 2 {
		ticks = append(ticks, tick{float64(i) / 10, fmt.Sprint(10 * i)})
	}
	return ticks
}

// sortedKeys returns the keys of a map in ascending order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
