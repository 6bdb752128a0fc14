package documents

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// odfStyles are the styles of an OpenDocument file, by name.
type odfStyles struct {
	text     map[string]odfStyle
	lists    map[string]*[listLevels]numberLevel
	headings numberedList    // numbers of headings (the outline style), and those that they have reached
	footers  map[string]bool // texts of headers and footers
}

// odfStyle is a style of paragraphs or of letters.
type odfStyle struct {
	parent   string
	vertical vertical
	raised   bool // vertical is set
	list     string
	hasList  bool // list is set; "" takes the number from headings
}

// readStyles reads the common styles of the file and the styles of the content part, and counts the headers and
// footers of pages, which are not read. Common styles that are damaged give a warning; other damage is an
// *UnreadableError.
func (o *odf) readStyles(content []byte) error {
	o.styles = odfStyles{text: map[string]odfStyle{}, lists: map[string]*[listLevels]numberLevel{}}
	common, err := o.parts.read("styles.xml")
	if err != nil {
		return err
	}
	// Styles of headers and footers may have the names of styles in the content part.
	if err := o.styles.read(common, "automatic-styles"); err != nil {
		o.w.warn("its styles cannot be read: numbers of lists may be missing")
		return nil
	}
	for text := range o.styles.footers {
		o.left.addFooter(text)
	}
	return o.styles.read(content, "body")
}

// read adds the styles in an XML part to s, and the texts of page headers and footers to s.footers. It skips
// elements whose local name is `except` with all that is in them. A nil part adds nothing; damaged XML is an
// *UnreadableError, after which s has the styles before the damage.
func (s *odfStyles) read(part []byte, except string) error {
	name := ""
	var levels *[listLevels]numberLevel
	var footer *strings.Builder
	return newElements(part).each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case except:
			return true
		case "style":
			name = value(e, "name")
			style := odfStyle{parent: value(e, "parent-style-name")}
			for _, a := range e.Attr {
				if a.Name.Local == "list-style-name" {
					style.list = a.Value
					style.hasList = true
				}
			}
			s.text[name] = style
		case "text-properties":
			if at := value(e, "text-position"); at != "" && name != "" {
				style := s.text[name]
				style.vertical = odfVertical(at)
				style.raised = true
				s.text[name] = style
			}
		case "list-style":
			levels = &[listLevels]numberLevel{}
			s.lists[value(e, "name")] = levels
		case "outline-style":
			levels = &s.headings.levels
		case "list-level-style-number", "outline-level-style":
			if n, err := strconv.Atoi(value(e, "level")); err == nil && n >= 1 && n <= listLevels && levels != nil {
				levels[n-1] = odfLevel(e, n, levels)
			}
		case "header", "footer", "header-left", "footer-left", "header-first", "footer-first":
			footer = &strings.Builder{}
		}
		return false
	}, func(text string) {
		if footer != nil {
			footer.WriteString(text + " ")
		}
	}, func(e xml.EndElement) {
		switch e.Name.Local {
		case "style":
			name = ""
		case "list-style", "outline-style":
			levels = nil
		case "header", "footer", "header-left", "footer-left", "header-first", "footer-first":
			if footer != nil {
				if s.footers == nil {
					s.footers = map[string]bool{}
				}
				s.footers[footer.String()] = true
			}
			footer = nil
		}
	})
}

// odfVertical returns whether letters are raised or lowered, by a text position such as "super 58%" or "-33% 58%";
// onLine if it is 0 or cannot be parsed.
func odfVertical(position string) vertical {
	at, _, _ := strings.Cut(position, " ")
	switch at {
	case "super":
		return superscript
	case "sub":
		return subscript
	}
	n, err := strconv.ParseFloat(strings.TrimSuffix(at, "%"), 64)
	switch {
	case err != nil || n == 0:
		return onLine
	case n > 0:
		return superscript
	}
	return subscript
}

// odfLevel returns the numbering that an element defines for a level, from 1 to listLevels, of a list. levels has the
// numberings of the levels above, whose numbers may be shown too, as in "2.1". A missing attribute means no number, and
// counting begins at 1.
func odfLevel(e xml.StartElement, level int, levels *[listLevels]numberLevel) numberLevel {
	l := numberLevel{start: 1, format: "none"}
	if n, err := strconv.Atoi(value(e, "start-value")); err == nil && n >= 0 {
		l.start = n
	}
	formats := map[string]string{
		"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman",
	}
	if format, known := formats[value(e, "num-format")]; known {
		l.format = format
		if strings.HasSuffix(format, "Letter") && value(e, "num-letter-sync") != "true" {
			l.format = strings.TrimSuffix(format, "Letter") + "Column"
		}
	} else if value(e, "num-format") != "" {
		l.format = "decimal" // of another script
	}
	if pattern := value(e, "num-list-format"); pattern != "" {
		for n := listLevels; n >= 1; n-- {
			pattern = strings.ReplaceAll(pattern, "%"+strconv.Itoa(n)+"%", "%"+strconv.Itoa(n))
		}
		l.text = pattern
		return l
	}
	shown, err := strconv.Atoi(value(e, "display-levels"))
	if err != nil || shown < 1 {
		shown = 1
	}
	var numbers []string
	for n := max(1, level-shown+1); n <= level; n++ {
		if n == level || levels[n-1].format != "none" && levels[n-1].format != "" {
			numbers = append(numbers, "%"+strconv.Itoa(n))
		}
	}
	l.text = value(e, "num-prefix") + strings.Join(numbers, ".") + value(e, "num-suffix")
	return l
}

// mostParents bounds the styles that a style may be based on.
const mostParents = 16

// vertical returns whether the letters of a style, or of the styles that it is based on, are raised or lowered; onLine
// if none says.
func (s *odfStyles) vertical(name string) vertical {
	for range mostParents {
		style := s.text[name]
		if style.raised {
			return style.vertical
		}
		if style.parent == "" {
			break
		}
		name = style.parent
	}
	return onLine
}

// heading returns the level of a heading by the name of its paragraph style or of one that this is based on; 0 if it is
// none. Some programs do not mark headings otherwise.
func (s *odfStyles) heading(name string) int {
	for range mostParents {
		if name == "Title" {
			return 1
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "Heading_20_")); err == nil && n >= 1 && n <= 9 {
			return n
		}
		name = s.text[name].parent
	}
	return 0
}

// headingNumber returns the number of a heading that is in no list, such as "2.1", and advances the numbers of
// headings. level is from 1. It is "", and nothing advances, if the element or its style says that it has no number
// or the level is too deep.
func (s *odfStyles) headingNumber(e xml.StartElement, level int) string {
	if value(e, "is-list-header") == "true" || level > listLevels {
		return ""
	}
	name := value(e, "style-name")
	for range mostParents {
		style := s.text[name]
		if style.hasList && style.list == "" {
			return ""
		}
		if style.hasList || style.parent == "" {
			break
		}
		name = style.parent
	}
	if value(e, "restart-numbering") == "true" {
		s.headings.restart(level-1, value(e, "start-value"))
	}
	return s.headings.next(level - 1)
}

// restart makes the next number of a level from 0 the one in a text such as "3"; the start of the level if it has none.
func (list *numberedList) restart(level int, start string) {
	list.begun[level] = false
	if n, err := strconv.Atoi(start); err == nil && n >= 0 && n < 1<<30 {
		list.counts[level] = n - 1
		list.begun[level] = true
	}
}

// odfLists are the lists around the place that is being read, the outermost first, and those before it.
type odfLists struct {
	open    []odfList
	byID    map[string]*numberedList // outermost lists by xml:id
	byStyle map[string]*numberedList // the last outermost list of each style
}

// odfList is a list that is being read.
type odfList struct {
	style   string
	numbers *numberedList // of the outermost list around it
	pending bool          // the first paragraph of the item has its number
}

// depth returns how many lists are around the place.
func (l *odfLists) depth() int { return len(l.open) }

// start begins a list inside the innermost one, or an outermost list. An inner list without a style has that of the
// list around it. An outermost list goes on counting if its element says so.
func (l *odfLists) start(e xml.StartElement) {
	list := odfList{style: value(e, "style-name")}
	if n := len(l.open); n > 0 {
		if list.style == "" {
			list.style = l.open[n-1].style
		}
		list.numbers = l.open[n-1].numbers
		l.open = append(l.open, list)
		return
	}
	if before := l.byID[value(e, "continue-list")]; before != nil {
		list.numbers = before
	} else if before := l.byStyle[list.style]; before != nil && value(e, "continue-numbering") == "true" {
		list.numbers = before
	} else {
		list.numbers = &numberedList{}
	}
	l.byStyle[list.style] = list.numbers
	if id := value(e, "id"); id != "" {
		l.byID[id] = list.numbers
	}
	l.open = append(l.open, list)
}

// startItem begins an item of the innermost list, or a header of it, which has no number. Outside of lists it does
// nothing.
func (l *odfLists) startItem(e xml.StartElement) {
	n := len(l.open)
	if n == 0 {
		return
	}
	list := &l.open[n-1]
	list.pending = e.Name.Local == "list-item"
	if start := value(e, "start-value"); start != "" && n <= listLevels {
		list.numbers.restart(n-1, start)
	}
}

// number returns the number of the item, such as "2.", for the item's first paragraph, and advances the list; ""
// for other paragraphs and items without number. There must be an open list.
func (l *odfLists) number(styles *odfStyles) string {
	n := len(l.open)
	list := &l.open[n-1]
	if !list.pending || n > listLevels {
		return ""
	}
	list.pending = false
	if levels := styles.lists[list.style]; levels != nil {
		list.numbers.levels = *levels
	} else {
		list.numbers.levels = [listLevels]numberLevel{}
	}
	return list.numbers.next(n - 1)
}

// end ends the innermost list; without one it does nothing.
func (l *odfLists) end() { l.open = l.open[:max(0, len(l.open)-1)] }
