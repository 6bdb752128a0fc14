package documents

import (
	"encoding/xml"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// mostRepeats bounds how often a cell or row with a repeat count is read. Empty rows are repeated to the end of a
// sheet.
const mostRepeats = 100

// readODF writes an OpenDocument text or presentation to w, and returns its title, else the first heading, else "".
// Slides are pages. Warnings count what is left out, such as pictures. The error is an *UnreadableError if the file
// is encrypted, damaged or beyond the limits.
func readODF(w *writer, data []byte) (string, error) { return readOpenDocument(w, data, false) }

// readODS writes an OpenDocument spreadsheet to w: each sheet is a page that begins with a heading with its name. The
// result is that of readODF. Errors are *UnreadableError, for a damaged file or one beyond a limit.
func readODS(w *writer, data []byte) (string, error) { return readOpenDocument(w, data, true) }

// readOpenDocument writes an OpenDocument file to w and returns its title, else the first heading, else "". With sheets
// it reads a spreadsheet, each sheet as a page; without, a text or a presentation. The error is an *UnreadableError if
// the file is encrypted, damaged or beyond the limits.
func readOpenDocument(w *writer, data []byte, sheets bool) (string, error) {
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
	o := &odf{
		w: w, parts: p, sheets: sheets,
		lists: odfLists{byID: map[string]*numberedList{}, byStyle: map[string]*numberedList{}},
	}
	if err := o.readStyles(content); err != nil {
		return "", err
	}
	if err := o.read(content); err != nil {
		return "", err
	}
	o.left.name(w)
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
	parts  *parts
	sheets bool
	styles odfStyles
	left   leftOut

	line    raisedLine
	notes   []string    // of the paragraph that is being read
	note    *raisedLine // the footnote that is being read; nil if none is
	kind    Kind
	level   int
	lists   odfLists
	number  string     // the number of the paragraph or heading
	inText  int        // elements whose characters are text
	inside  string     // "number" or "footer" while their characters are read; else ""
	spans   []vertical // of the spans around the place
	title   bool
	formula *html.Node // the innermost element of the formula that is being read; nil if none is

	tables    []*odfTable
	copied    int    // bytes of cells, each counted for every table that it is in and every time that it is repeated
	objects   int    // how many embedded objects are in each other around the place
	hasObject bool   // the frame that is being read has an object, of which its picture is a copy
	folder    string // of the part that is being read, with a slash at its end; "" for the main one
}

// copies counts bytes that will be copied into cells, and returns true. If all copies together exceed
// Limits.TextBytes, it refuses the file (writer.refuse) and returns false.
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
	value                 string // of the cell, for files that do not have its text
	gap                   int    // empty cells before the next one
	inHeader              bool
}

// read reads the content part of the file or of an object in it, and writes its blocks. The error is an
// *UnreadableError if the part is damaged or beyond the limits.
func (o *odf) read(content []byte) error {
	if err := newElements(content).each(o.start, o.characters, o.end); err != nil {
		return err
	}
	return o.w.err
}

// characters appends characters to the formula, the number or the paragraph that is being read. Those of headers and
// footers are counted as left out, and others are ignored.
func (o *odf) characters(s string) {
	switch {
	case o.formula != nil:
		o.formula.AppendChild(&html.Node{Type: html.TextNode, Data: s})
	case o.inside == "number":
		o.number += s
	case o.inside == "footer":
		o.left.addFooter(s)
	case o.inText > 0:
		o.write(s)
	}
}

// current returns the line that is being read: of the footnote, or else of the paragraph.
func (o *odf) current() *raisedLine {
	if o.note != nil {
		return o.note
	}
	return &o.line
}

// write appends text to the footnote that is being read, or else to the paragraph.
func (o *odf) write(s string) {
	at := onLine
	for _, span := range o.spans {
		if span != onLine {
			at = span
		}
	}
	o.current().write(s, at)
}

// start handles the beginning of an element of the document's content. It returns true if the element is to be skipped
// with all that is in it, such as tracked changes, comments and the table of contents.
func (o *odf) start(e xml.StartElement) bool {
	if o.formula != nil || e.Name.Local == "math" {
		o.startFormula(e)
		return false
	}
	switch e.Name.Local {
	case "tracked-changes", "automatic-styles", "font-face-decls", "scripts", "note-citation", "desc", "settings", "forms":
		return true
	case "title":
		return strings.Contains(e.Name.Space, "svg") // the name of a picture
	case "table-of-content":
		o.left.contents++
		return true
	case "annotation":
		o.left.addComments(1, "")
		return true
	case "header-decl", "footer-decl":
		o.inside = "footer"
	case "h", "p":
		o.startParagraph(e)
	case "number":
		o.inside = "number"
		o.number = ""
	case "span":
		o.spans = append(o.spans, o.styles.vertical(value(e, "style-name")))
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
		o.lists.start(e)
	case "list-item", "list-header":
		o.lists.startItem(e)
	case "note":
		o.note = &raisedLine{}
	case "page":
		o.w.page++
	case "notes": // of a slide
		o.flush()
	case "frame":
		o.title = value(e, "class") == "title"
		o.hasObject = false
	case "object":
		o.hasObject = true
		return o.readObject(value(e, "href"))
	case "object-ole":
		o.hasObject = true
		o.left.addObject("OLE")
	case "image":
		if !o.hasObject {
			o.left.pictures++
		}
	default:
		o.startTable(e)
	}
	return false
}

// startParagraph begins a paragraph or a heading, after writing the text collected before as a block. Its kind,
// level and number are those of the element, its style and the list around it. In a footnote it only appends a
// space.
func (o *odf) startParagraph(e xml.StartElement) {
	o.inText++
	if o.note != nil {
		o.note.write(" ", onLine)
		return
	}
	o.flush()
	o.kind, o.level = Paragraph, 0
	number := ""
	if o.lists.depth() > 0 {
		number = o.lists.number(&o.styles)
	}
	switch {
	case e.Name.Local == "h":
		n, err := strconv.Atoi(value(e, "outline-level"))
		if err != nil || n < 1 {
			n = 1
		}
		o.kind = Heading
		o.level = min(n, 9)
		if o.lists.depth() == 0 {
			number = o.styles.headingNumber(e, n)
		}
	case o.title:
		o.kind, o.level = Heading, 2
	case o.styles.heading(value(e, "style-name")) > 0 && o.table() == nil:
		o.kind = Heading
		o.level = o.styles.heading(value(e, "style-name"))
	case o.lists.depth() > 0:
		o.kind = Item
		o.level = o.lists.depth()
	}
	if number != "" {
		o.number = number
	}
}

// startTable begins an element of a table, row or cell; it ignores any other element. A table of a spreadsheet
// begins a page with the sheet's name as its heading.
func (o *odf) startTable(e xml.StartElement) {
	t := o.table()
	switch e.Name.Local {
	case "table":
		o.flush()
		if o.sheets && len(o.tables) == 0 {
			o.w.page++
			o.w.add(Heading, 1, value(e, "name"))
		}
		o.tables = append(o.tables, &odfTable{})
	case "table-header-rows":
		if t != nil {
			t.inHeader = true
		}
	case "table-row":
		if t != nil {
			t.rows = append(t.rows, nil)
			t.gap = 0
			t.repeatRow = o.repeats(e, "number-rows-repeated")
		}
	case "table-cell", "covered-table-cell":
		if t != nil {
			t.repeatCell = o.repeats(e, "number-columns-repeated")
			t.value = cellValue(e)
			if t.value == "" && value(e, "formula") != "" {
				o.left.formulas++
			}
		}
	}
}

// cellValue returns the value in the attributes of a cell as text, such as "12.5%" or "3 EUR"; "" if it has none. It is
// for cells in which the program wrote no text.
func cellValue(e xml.StartElement) string {
	n := value(e, "value")
	switch value(e, "value-type") {
	case "percentage":
		if share, err := strconv.ParseFloat(n, 64); err == nil {
			return strconv.FormatFloat(share*100, 'f', -1, 32) + "%"
		}
	case "currency":
		return strings.TrimSpace(n + " " + value(e, "currency"))
	case "date":
		return value(e, "date-value")
	case "time":
		return value(e, "time-value")
	case "boolean":
		return value(e, "boolean-value")
	case "string":
		return value(e, "string-value")
	}
	return n
}

// end handles the end of an element of the document's content. With a heading, paragraph, cell, row or table it writes,
// or adds to the current table, what was collected of it.
func (o *odf) end(e xml.EndElement) {
	if o.formula != nil {
		o.endFormula()
		return
	}
	switch e.Name.Local {
	case "number", "header-decl", "footer-decl":
		o.inside = ""
	case "span":
		o.spans = o.spans[:max(0, len(o.spans)-1)]
	case "h", "p":
		o.inText = max(0, o.inText-1)
		if o.note == nil {
			o.flush()
		}
	case "note":
		if o.note != nil {
			o.notes = append(o.notes, o.note.take())
			o.note = nil
		}
	case "frame":
		o.title = false
	case "list":
		o.lists.end()
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

// flush writes the collected paragraph, after its number, and its footnotes as blocks, or adds the paragraph to the
// current cell of a table.
func (o *odf) flush() {
	text := o.line.take()
	if strings.TrimSpace(text) != "" && o.number != "" {
		text = strings.TrimSpace(o.number) + " " + text
		o.number = ""
	}
	if t := o.table(); t != nil && (len(t.rows) > 0 || !o.sheets) { // else of drawings on a sheet
		t.cell.WriteString(text + " ")
		return
	}
	o.w.add(o.kind, o.level, text)
	for _, note := range o.notes {
		o.w.add(Note, 0, note)
	}
	o.notes = nil
}

// endCell appends the collected cell to the last row, as often as the file repeats it. Empty cells are only
// counted, and appended before the next one with a text, at most mostRepeats. If the copies are too large, the file
// is refused.
func (o *odf) endCell() {
	t := o.table()
	if t == nil || len(t.rows) == 0 {
		return
	}
	text := clean(t.cell.String())
	t.cell.Reset()
	if text == "" {
		text = clean(t.value)
	}
	if text == "" {
		t.gap += t.repeatCell
		return
	}
	empty := min(t.gap, mostRepeats)
	t.gap = 0
	if !o.copies(empty) {
		return
	}
	t.rows[len(t.rows)-1] = append(t.rows[len(t.rows)-1], make([]string, empty)...)
	for range t.repeatCell {
		if !o.copies(len(text) + 1) {
			return
		}
		t.rows[len(t.rows)-1] = append(t.rows[len(t.rows)-1], text)
	}
}

// endTable writes the innermost table. A table inside a cell becomes text of that cell. If the file marks no
// header, the first row names the columns if it looks like that. Without a table it does nothing.
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

// repeats returns the number in a repeat attribute of a row or cell, from 1 to mostRepeats; 1 if there is none. More
// repetitions of a cell with a value are counted as left out.
func (o *odf) repeats(e xml.StartElement, attribute string) int {
	n, err := strconv.Atoi(value(e, attribute))
	if err != nil || n < 1 {
		return 1
	}
	if n > mostRepeats && cellValue(e) != "" {
		o.left.repeats++
	}
	return min(n, mostRepeats)
}
