package documents

import (
	"encoding/xml"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// readPPTX reads the slides of a presentation in order: titles as headings, lists, tables, and then the speaker notes.
// Each slide is a page.
func readPPTX(w *writer, data []byte) (string, error) {
	p, presentation, related, err := openOffice(data, w.limits)
	if err != nil {
		return "", err
	}
	var slides []string
	listed := map[string]bool{}
	if err := newElements(presentation).each(func(e xml.StartElement) bool {
		if e.Name.Local == "sldId" {
			for _, a := range e.Attr {
				if a.Name.Local == "id" && a.Name.Space != "" && !listed[a.Value] { // r:id
					listed[a.Value] = true
					slides = append(slides, related[a.Value].target)
				}
			}
		}
		return false
	}, func(string) {}, func(xml.EndElement) {}); err != nil {
		return "", err
	}
	for i, slide := range slides {
		w.page = i + 1
		text, err := p.read(slide)
		if err != nil {
			return "", err
		}
		if err := readSlide(w, text, Paragraph); err != nil {
			return "", err
		}
		around, err := p.relations(slide)
		if err != nil {
			return "", err
		}
		notes, err := p.read(ofKind(around, "notesSlide"))
		if err != nil {
			return "", err
		}
		if err := readSlide(w, notes, Note); err != nil {
			return "", err
		}
		if err := addDrawings(w, p, around); err != nil {
			return "", err
		}
	}
	title := p.coreTitle()
	if title == "" || strings.EqualFold(title, "PowerPoint Presentation") {
		title = firstHeading(w)
	}
	return title, nil
}

// addDrawings adds the charts and diagrams of a slide.
func addDrawings(w *writer, p *parts, around map[string]relation) error {
	for _, id := range slices.Sorted(maps.Keys(around)) {
		r := around[id]
		switch r.kind {
		case "chart":
			if err := readChart(w, p, r.target); err != nil {
				return err
			}
		case "diagramData":
			data, err := p.read(r.target)
			if err != nil {
				return err
			}
			if err := readDiagram(w, data); err != nil {
				return err
			}
		}
	}
	return nil
}

// shape is the placeholder on a slide that is being read.
type shape struct {
	kind Kind
	skip bool // dates, numbers and footers of slides
}

// readSlide writes the text of a slide or of its notes. plain is the kind of text outside of titles and lists; Note
// means that all of it is notes.
func readSlide(w *writer, slide []byte, plain Kind) error {
	var line strings.Builder
	var t *table
	current := shape{kind: plain}
	level, inText := 0, false
	return newElements(slide).each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "Fallback":
			return true
		case "sp":
			current = shape{kind: plain}
		case "ph":
			switch value(e, "type") {
			case "title", "ctrTitle":
				if plain != Note {
					current.kind = Heading
				}
			case "dt", "ftr", "sldNum", "hdr", "sldImg":
				current.skip = true
			case "body", "obj", "":
				if plain != Note {
					current.kind = Item
				}
			}
		case "pPr":
			if n, err := strconv.Atoi(value(e, "lvl")); err == nil && n >= 0 && n < 9 {
				level = n
			}
		case "p":
			level = 0
		case "br":
			line.WriteByte('\n')
		case "t":
			inText = true
		case "tbl":
			t = &table{}
		case "tblPr":
			if t != nil {
				t.heads = value(e, "firstRow") == "1"
			}
		case "tr":
			if t != nil {
				t.rows = append(t.rows, nil)
			}
		}
		return false
	}, func(s string) {
		if inText && !current.skip {
			line.WriteString(s)
		}
	}, func(e xml.EndElement) {
		switch e.Name.Local {
		case "t":
			inText = false
		case "p":
			text := line.String()
			line.Reset()
			switch {
			case t != nil:
				t.cell.WriteString(text + " ")
			case current.kind == Heading:
				w.add(Heading, 2, text)
			case current.kind == Item:
				w.add(Item, level+1, text)
			default:
				w.add(current.kind, 0, text)
			}
		case "tc":
			if t != nil && len(t.rows) > 0 {
				t.rows[len(t.rows)-1] = append(t.rows[len(t.rows)-1], clean(t.cell.String()))
				t.cell.Reset()
			}
		case "tbl":
			if t != nil {
				headed := 0
				if t.heads && len(t.rows) > 1 {
					headed = 1
				}
				addTable(w, t.rows, headed)
				t = nil
			}
		}
	})
}

// readChart writes the title of a chart, and each series with its categories and values.
func readChart(w *writer, p *parts, part string) error {
	data, err := p.read(part)
	if err != nil || data == nil {
		return err
	}
	var title strings.Builder
	var in []string
	series := map[string][]string{}
	around := map[string]int{} // how many elements of a name the place is in
	inside := func(name string) bool { return around[name] > 0 }
	endSeries := func() {
		names, categories, values := series["tx"], series["cat"], series["val"]
		if len(values) > 0 {
			cells := []string{strings.Join(names, " ")}
			for i, v := range values {
				if i < len(categories) {
					v = categories[i] + ": " + v
				}
				cells = append(cells, v)
			}
			w.add(Row, 0, joinCells(cells))
		}
		clear(series)
	}
	var text strings.Builder
	err = newElements(data).each(func(e xml.StartElement) bool {
		in = append(in, e.Name.Local)
		around[e.Name.Local]++
		text.Reset()
		return false
	}, func(s string) { text.WriteString(s) }, func(e xml.EndElement) {
		switch e.Name.Local {
		case "t":
			if inside("title") && !inside("ser") {
				title.WriteString(text.String())
			}
		case "v":
			for _, of := range []string{"tx", "cat", "val"} {
				if inside("ser") && inside(of) {
					series[of] = append(series[of], text.String())
				}
			}
		case "title":
			w.add(Caption, 0, title.String())
			title.Reset()
		case "ser":
			endSeries()
		}
		around[in[len(in)-1]]--
		in = in[:len(in)-1]
	})
	return err
}
