package documents

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// mostRepeats bounds how often a cell or row with a repeat count is read. Empty rows are repeated to the end of a
// sheet.
const mostRepeats = 100

// readODF reads an OpenDocument text, presentation or spreadsheet, and returns its title. Slides and sheets are pages;
// each sheet begins with a heading with its name.
func readODF(w *writer, data []byte, mediaType string) (string, error) {
	p, err := openParts(data, w.limits)
	if err != nil {
		return "", err
	}
	if manifest, err := p.read("META-INF/manifest.xml"); err != nil {
		return "", err
	} else if strings.Contains(string(manifest), "encryption-data") {
		return "", unreadable(Encrypted, nil, "it is encrypted: save it without a password")
	}
	content, err := p.read("content.xml")
	if err != nil {
		return "", err
	}
	if content == nil {
		return "", unreadable(Damaged, nil, "it has no part content.xml")
	}
	o := &odf{w: w, sheets: strings.Contains(mediaType, "spreadsheet")}
	if err := o.read(content); err != nil {
		return "", err
	}
	title := ""
	if meta, err := p.read("meta.xml"); err == nil {
		title = titleIn(meta)
	}
	if title == "" {
		title = firstHeading(w)
	}
	return title, nil
}

// odf holds the state of reading an OpenDocument file.
type odf struct {
	w      *writer
	sheets bool

	line   strings.Builder
	notes  []string // of the paragraph that is being read
	note   *strings.Builder
	kind   Kind
	level  int
	depth  int // of lists
	title  bool
	tables []*odfTable
	inText int // elements whose characters are text
	copied int // bytes of cells, each counted for every table that it is in and every time that it is repeated
}

// copies counts bytes that are to be copied into cells, and returns false if all copies together exceed
// Limits.TextBytes; the file is refused then.
func (o *odf) copies(bytes int) bool {
	o.copied += bytes
	if o.copied > o.w.limits.TextBytes {
		o.w.refuse()
		return false
	}
	return true
}

// odfTable is a table that is being read.
type odfTable struct {
	table
	repeatCell, repeatRow int
	inHeader              bool
}

// read reads content.xml and writes its blocks. The error is an *UnreadableError if it is damaged or beyond the limits.
func (o *odf) read(content []byte) error {
	if err := newElements(content).each(o.start, func(s string) {
		if o.inText > 0 {
			o.write(s)
		}
	}, o.end); err != nil {
		return err
	}
	return o.w.err
}

// write appends text to the footnote that is being read, or else to the paragraph.
func (o *odf) write(s string) {
	if o.note != nil {
		o.note.WriteString(s)
		return
	}
	o.line.WriteString(s)
}

// start begins an element; it returns true if the element is to be skipped with all that is in it.
func (o *odf) start(e xml.StartElement) bool {
	switch e.Name.Local {
	case "tracked-changes",
		"table-of-content",
		"automatic-styles",
		"font-face-decls",
		"scripts",
		"note-citation",
		"annotation",
		"desc",
		"settings",
		"forms",
		"shapes":
		return true
	case "h", "p":
		if o.note == nil {
			o.flush()
			o.kind, o.level = Paragraph, 0
			switch {
			case e.Name.Local == "h":
				n, err := strconv.Atoi(value(e, "outline-level"))
				if err != nil || n < 1 {
					n = 1
				}
				o.kind = Heading
				o.level = min(n, 9)
			case o.title:
				o.kind, o.level = Heading, 2
			case o.depth > 0:
				o.kind = Item
				o.level = o.depth
			}
		} else {
			o.note.WriteByte(' ')
		}
		o.inText++
	case "s":
		n, err := strconv.Atoi(value(e, "c"))
		if err != nil {
			n = 1
		}
		o.write(strings.Repeat(" ", max(1, min(n, 80))))
	case "tab":
		o.write("\t")
	case "line-break":
		o.write("\n")
	case "list":
		o.depth++
	case "note":
		o.note = &strings.Builder{}
	case "page":
		o.w.page++
	case "notes": // of a slide
		o.flush()
	case "frame":
		o.title = value(e, "class") == "title"
	case "table":
		o.flush()
		if o.sheets && len(o.tables) == 0 {
			o.w.page++
			o.w.add(Heading, 1, value(e, "name"))
		}
		o.tables = append(o.tables, &odfTable{})
	case "table-header-rows":
		if t := o.table(); t != nil {
			t.inHeader = true
		}
	case "table-row":
		if t := o.table(); t != nil {
			t.rows = append(t.rows, nil)
			t.repeatRow = repeats(value(e, "number-rows-repeated"))
		}
	case "table-cell", "covered-table-cell":
		if t := o.table(); t != nil {
			t.repeatCell = repeats(value(e, "number-columns-repeated"))
		}
	}
	return false
}

// end ends an element, and writes the paragraph or table that ends with it.
func (o *odf) end(e xml.EndElement) {
	switch e.Name.Local {
	case "h", "p":
		o.inText = max(0, o.inText-1)
		if o.note == nil {
			o.flush()
		}
	case "note":
		if o.note != nil {
			o.notes = append(o.notes, o.note.String())
			o.note = nil
		}
	case "frame":
		o.title = false
	case "list":
		o.depth = max(0, o.depth-1)
	case "table-header-rows":
		if t := o.table(); t != nil {
			t.inHeader = false
			t.headed = len(t.rows)
		}
	case "table-cell", "covered-table-cell":
		o.endCell()
	case "table-row":
		if t := o.table(); t != nil && len(t.rows) > 0 {
			last := t.rows[len(t.rows)-1]
			size := len(joinCells(last))
			if size == 0 {
				t.rows = t.rows[:len(t.rows)-1]
				return
			}
			for range t.repeatRow - 1 {
				if !o.copies(size) {
					return
				}
				t.rows = append(t.rows, last)
			}
		}
	case "table":
		o.endTable()
	}
}

// table returns the innermost table that is being read; nil if there is none.
func (o *odf) table() *odfTable {
	if n := len(o.tables); n > 0 {
		return o.tables[n-1]
	}
	return nil
}

// flush writes the collected paragraph and its footnotes as blocks, or adds the paragraph to the current cell of a
// table.
func (o *odf) flush() {
	text := o.line.String()
	o.line.Reset()
	if t := o.table(); t != nil {
		t.cell.WriteString(text + " ")
		return
	}
	o.w.add(o.kind, o.level, text)
	for _, note := range o.notes {
		o.w.add(Note, 0, note)
	}
	o.notes = nil
}

// endCell appends the collected cell to the last row, as often as the file repeats it; an empty cell once.
func (o *odf) endCell() {
	t := o.table()
	if t == nil || len(t.rows) == 0 {
		return
	}
	text := clean(t.cell.String())
	t.cell.Reset()
	n := t.repeatCell
	if text == "" {
		n = min(n, 1)
	}
	for range n {
		if !o.copies(len(text) + 1) {
			return
		}
		t.rows[len(t.rows)-1] = append(t.rows[len(t.rows)-1], text)
	}
}

// endTable writes the innermost table. A table inside a cell becomes text of that cell.
func (o *odf) endTable() {
	t := o.table()
	if t == nil {
		return
	}
	o.tables = o.tables[:len(o.tables)-1]
	if outer := o.table(); outer != nil {
		for _, row := range t.rows {
			text := joinCells(row)
			if !o.copies(len(text)) {
				return
			}
			outer.cell.WriteString(text + " ")
		}
		return
	}
	if t.headed == 0 && looksLikeHeader(t.rows) {
		t.headed = 1
	}
	addTable(o.w, t.rows, min(t.headed, len(t.rows)))
}

// repeats returns the number in a repeat attribute, from 1 to mostRepeats; 1 if there is none.
func repeats(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 1
	}
	return min(n, mostRepeats)
}
