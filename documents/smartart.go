package documents

import (
	"cmp"
	"encoding/xml"
	"slices"
	"strconv"
	"strings"
)

// mostDiagramDepth is the deepest list level for the points of a diagram.
const mostDiagramDepth = 9

// readDiagram writes the points of a SmartArt diagram to w as a nested list. part is its data model in XML. Points
// that are connected with nothing follow at the first level. The error is an *UnreadableError if the XML is
// damaged.
func readDiagram(w *writer, part []byte) error {
	d := diagram{texts: map[string]*strings.Builder{}, below: map[string][]connection{}}
	if err := d.read(part); err != nil {
		return err
	}
	seen := map[string]bool{}
	var visit func(id string, level, depth int)
	visit = func(id string, level, depth int) {
		if seen[id] || depth > deepest { // what is deeper comes behind, as if it belonged to nothing
			return
		}
		seen[id] = true
		if text := d.textOf(id); strings.TrimSpace(text) != "" {
			level = min(level+1, mostDiagramDepth)
			w.add(Item, level, text)
		}
		slices.SortStableFunc(d.below[id], func(a, b connection) int { return cmp.Compare(a.order, b.order) })
		for _, c := range d.below[id] {
			visit(c.to, level, depth+1)
		}
	}
	visit(d.root, 0, 0)
	for _, id := range d.order { // those that are connected with nothing
		visit(id, 0, 0)
	}
	return nil
}

// diagram is the data model of a SmartArt diagram: points with texts, and the connections from a point to those below
// it.
type diagram struct {
	root  string
	order []string // of points, as the file has them
	texts map[string]*strings.Builder
	below map[string][]connection
}

// connection leads from a point of a diagram to one below it; points with a lower order come first.
type connection struct {
	to    string
	order int
}

// textOf returns the text of a point; "" if it has none.
func (d *diagram) textOf(point string) string {
	if text := d.texts[point]; text != nil {
		return text.String()
	}
	return ""
}

// read adds the points with a text and their connections to the points below them, from the data model in part. Damaged
// XML is an *UnreadableError; what was read before stays.
func (d *diagram) read(part []byte) error {
	point, inText := "", false
	return newElements(part).each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "pt":
			point = value(e, "modelId")
			switch value(e, "type") {
			case "doc":
				d.root = point
			case "", "node", "asst":
				d.order = append(d.order, point)
			default: // lines between points, and how they are drawn
				point = ""
				return true
			}
		case "cxn":
			if kind := value(e, "type"); kind == "" || kind == "parOf" {
				order, _ := strconv.Atoi(value(e, "srcOrd")) // one that cannot be read is the first
				from := value(e, "srcId")
				d.below[from] = append(d.below[from], connection{value(e, "destId"), order})
			}
		case "t":
			inText = e.Name.Space != "" && strings.HasSuffix(e.Name.Space, "/main")
		case "p", "br":
			if text := d.texts[point]; text != nil {
				text.WriteByte(' ')
			}
		}
		return false
	}, func(s string) {
		if inText && point != "" {
			if d.texts[point] == nil {
				d.texts[point] = &strings.Builder{}
			}
			d.texts[point].WriteString(s)
		}
	}, func(e xml.EndElement) {
		switch e.Name.Local {
		case "t":
			inText = false
		case "pt":
			point = ""
		}
	})
}
