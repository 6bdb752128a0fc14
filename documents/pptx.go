package documents

import (
	"encoding/xml"
	"maps"
	"slices"
	"strings"
)

// readPPTX writes the slides of a presentation to w in order: titles as headings, lists, tables, charts and
// diagrams, with the speaker notes after each. Each slide is a page. It returns the title in the file's properties,
// else the first heading, else "". Warnings count what is left out. The error is an *UnreadableError if the file is
// damaged or beyond the limits.
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
	left := &leftOut{}
	for i, slide := range slides {
		w.page = i + 1
		text, err := p.read(slide)
		if err != nil {
			return "", err
		}
		if err := readSlide(w, left, text, Paragraph); err != nil {
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
		if err := readSlide(w, left, notes, Note); err != nil {
			return "", err
		}
		if err := addDrawings(w, p, around); err != nil {
			return "", err
		}
		if err := countComments(left, p, around); err != nil {
			return "", err
		}
	}
	left.name(w)
	title := p.coreTitle()
	if title == "" || strings.EqualFold(title, "PowerPoint Presentation") {
		title = firstHeading(w)
	}
	return title, nil
}

// countComments counts the comments on a slide, which are not read, in left; none if there are none or their XML is
// damaged. around are the slide's relations. The error says that their part cannot be unpacked.
func countComments(left *leftOut, p *parts, around map[string]relation) error {
	part, err := p.read(ofKind(around, "comments"))
	if err != nil || part == nil {
		return err
	}
	var text strings.Builder
	count := 0
	err = newElements(part).each(func(e xml.StartElement) bool {
		if e.Name.Local == "cm" {
			count++
		}
		return false
	}, func(s string) { text.WriteString(s + " ") }, func(xml.EndElement) {})
	if err == nil && count > 0 {
		left.addComments(count, text.String())
	}
	return nil // what is not read cannot damage the rest
}

// addDrawings writes the charts and diagrams of a slide, in the order of the ids of its relations `around`. The
// error is an *UnreadableError if one is damaged or a limit is exceeded.
func addDrawings(w *writer, p *parts, around map[string]relation) error {
	for _, id := range slices.Sorted(maps.Keys(around)) {
		r := around[id]
		switch r.kind {
		case "chart":
			data, err := p.read(r.target)
			if err != nil {
				return err
			}
			if err := readChart(w, data); err != nil {
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

// readChart writes the title of a chart in XML as a caption, and each series as a row of its name, categories and
// values. Series without values are left out. The error is an *UnreadableError if the XML is damaged.
func readChart(w *writer, data []byte) error {
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
	return newElements(data).each(func(e xml.StartElement) bool {
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
			for _, part := range []string{"tx", "cat", "val"} {
				if inside("ser") && inside(part) {
					series[part] = append(series[part], text.String())
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
}
