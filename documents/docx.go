package documents

import (
	"encoding/xml"
	"errors"
	"strconv"
	"strings"
)

// readDOCX writes the blocks of a Word file to w: paragraphs, headings by their styles' outline levels, lists,
// tables, text boxes and footnotes. Deleted text and the headers and footers of pages are not read. Pages are
// numbered as Word has drawn them last, if the file says so. The title is that of the file's properties, else the
// first heading, else "". warnings name embedded parts that cannot be read; an archive or XML that is damaged is an
// *UnreadableError.
func readDOCX(w *writer, data []byte) (title string, warnings []string, err error) {
	p, document, related, err := openOffice(data, w.limits)
	if err != nil {
		return "", nil, err
	}
	d := &docx{
		w: w, paged: strings.Contains(string(document), "lastRenderedPageBreak"), depth: w.limits.Depth, left: &leftOut{},
	}
	if err := d.readFile(p, document, related); err != nil {
		return "", nil, err
	}
	d.left.name(w)
	title = p.coreTitle()
	if title == "" {
		title = firstHeading(w)
	}
	return title, d.warnings, nil
}

// readFile writes the blocks of a Word file's main part, after reading its styles, footnotes and list numbering.
// related are the relations of the main part. It counts in d.left what is not read. The error is an
// *UnreadableError if a part is damaged or a limit is exceeded.
func (d *docx) readFile(p *parts, document []byte, related map[string]relation) error {
	d.parts, d.related = p, related
	styles, err := p.read(ofKind(related, "styles"))
	if err != nil {
		return err
	}
	d.styles, err = readStyles(styles)
	if err != nil {
		return err
	}
	d.notes = map[string]string{}
	for _, kind := range []string{"footnote", "endnote"} {
		if err := d.readNotes(kind); err != nil {
			return err
		}
	}
	numbers, err := p.read(ofKind(related, "numbering"))
	if err != nil {
		return err
	}
	d.numbers, err = readNumbers(numbers)
	if err != nil {
		return err
	}
	if d.paged {
		d.w.page = 1
	}
	return errors.Join(d.read(document), d.err, d.nameHeads(), d.nameComments())
}

// docx holds the state of reading a Word file.
type docx struct {
	w      *writer
	paged  bool
	styles docxStyles
	notes  map[string]string // the texts of footnotes and endnotes, by kind and id: "footnote 2"

	numbers  *docxNumbers
	list     string // the id of the list that the paragraph is in; "" where it is in none
	depthIn  int    // its level in the list
	number   string // the number before the paragraph, such as "2.1"
	inText   bool   // characters are text
	math     formulaReader
	vertical vertical // of the current run

	line   raisedLine
	kind   Kind
	level  int
	cited  []string // footnotes of the paragraph that is being read
	tables []*table // around the place, the outermost first
	saved  []docx   // paragraphs around text boxes

	parts    *parts
	related  map[string]relation
	aside    []relation // diagrams and files in the paragraph or table that is being read
	depth    int        // how deep files may be in this one
	left     *leftOut   // pictures and objects, which are not read
	warnings []string
	err      error // from reading what is in aside
}

// table collects the rows of a table that is being read.
type table struct {
	rows   [][]string
	cell   strings.Builder
	headed int
	heads  bool // the row that is being read names the columns
	span   int  // columns that the cell spans that is being read
	goesOn bool // that cell goes on with the one above it
	copies int  // of cells that span rows
}

// read reads the main part of the file and writes its blocks. The error is an *UnreadableError if its XML is damaged.
func (d *docx) read(document []byte) error {
	return newElements(document).each(func(e xml.StartElement) bool {
		if d.math.reading() {
			return d.math.start(e)
		}
		switch e.Name.Local {
		case "p":
			d.begin()
		case "numId":
			d.list = value(e, "val")
		case "gridSpan":
			if t := d.table(); t != nil {
				t.span, _ = strconv.Atoi(value(e, "val"))
			}
		case "vMerge":
			if t := d.table(); t != nil {
				t.goesOn = value(e, "val") != "restart"
			}
		case "pStyle":
			style := value(e, "val")
			if d.list == "" { // else the paragraph's own, which some programs write before its style
				d.list, d.depthIn = d.numberingOf(style)
			}
			switch {
			case d.styles.headings[style] > 0:
				d.kind = Heading
				d.level = d.styles.headings[style]
			case d.styles.lists[style] && d.kind != Item:
				d.kind, d.level = Item, 1
			}
		case "outlineLvl":
			if n, err := strconv.Atoi(value(e, "val")); err == nil && n < 9 {
				d.kind = Heading
				d.level = n + 1
			}
		case "ilvl":
			if n, err := strconv.Atoi(value(e, "val")); err == nil && n >= 0 && n < 9 {
				d.depthIn = n
				if d.kind != Heading {
					d.kind = Item
					d.level = n + 1
				}
			}
		case "lastRenderedPageBreak":
			if d.line.empty() || len(d.tables) > 0 {
				d.w.page++
			} else {
				d.flush()
				d.w.page++
			}
		case "footnoteReference", "endnoteReference":
			key := strings.TrimSuffix(e.Name.Local, "Reference") + " " + value(e, "id")
			if note := d.notes[key]; note != "" {
				d.cited = append(d.cited, note)
				delete(d.notes, key) // it is read once
			}
		case "tbl":
			d.tables = append(d.tables, &table{})
		case "tblHeader":
			if t := d.table(); t != nil && value(e, "val") != "0" && value(e, "val") != "false" {
				t.heads = true
			}
		case "tr":
			if t := d.table(); t != nil {
				t.rows = append(t.rows, nil)
				t.heads = false
			}
		case "relIds":
			d.aside = append(d.aside, d.related[value(e, "dm")])
		case "chart":
			d.aside = append(d.aside, d.related[value(e, "id")])
		case "altChunk":
			d.aside = append(d.aside, d.related[value(e, "id")])
			d.begin()
			d.addAside()
		case "txbxContent":
			d.saved = append(d.saved, docx{kind: d.kind, level: d.level})
			d.flush()
		default:
			return d.startInline(e)
		}
		return false
	}, d.characters, func(e xml.EndElement) {
		if d.math.reading() {
			d.endInline(e)
			return
		}
		switch e.Name.Local {
		case "pPr":
			if d.list != "" && d.number == "" {
				d.number = d.numbers.next(d.list, d.depthIn)
			}
		case "p":
			d.flush()
			d.addNotes()
			d.addAside()
		case "tc":
			d.endCell()
		case "tr":
			if t := d.table(); t != nil && t.heads && t.headed == len(t.rows)-1 {
				t.headed++
			}
		case "tbl":
			d.endTable()
		case "txbxContent":
			if n := len(d.saved); n > 0 {
				d.kind, d.level = d.saved[n-1].kind, d.saved[n-1].level
				d.saved = d.saved[:n-1]
			}
		default:
			d.endInline(e)
		}
	})
}

// begin starts a paragraph without style, list and number. Outside of text boxes it first writes the text collected
// before.
func (d *docx) begin() {
	if len(d.saved) == 0 {
		d.flush()
	}
	d.kind, d.level = Paragraph, 0
	d.list, d.depthIn, d.number = "", 0, ""
	d.vertical = onLine
}

// numberingOf returns the id of the list that a style's paragraphs belong to, and their level from 0; "" if they are in
// no list.
func (d *docx) numberingOf(style string) (list string, level int) {
	if numbered, known := d.styles.numbers[style]; known {
		if linked, known := d.numbers.styles[style]; known && linked.id != "" && numbered.level == 0 {
			return numbered.id, linked.level
		}
		return numbered.id, numbered.level
	}
	return "", 0
}

// table returns the innermost table that is being read; nil if there is none.
func (d *docx) table() *table {
	if n := len(d.tables); n > 0 {
		return d.tables[n-1]
	}
	return nil
}

// flush ends the current paragraph: its text, after its number, becomes a block, or is appended to the cell of the
// innermost table. Blank text writes no block and keeps the number for the next text.
func (d *docx) flush() {
	text := d.line.take()
	if d.number != "" && strings.TrimSpace(text) != "" {
		text = d.number + " " + text
		d.number = ""
	}
	if t := d.table(); t != nil {
		if t.cell.Len() > 0 {
			t.cell.WriteByte(' ')
		}
		t.cell.WriteString(text)
		return
	}
	d.w.add(d.kind, d.level, text)
}

// addNotes writes the footnotes that were cited since the last call, as blocks. Inside a table it does nothing:
// they follow the table.
func (d *docx) addNotes() {
	if len(d.tables) > 0 {
		return
	}
	for _, note := range d.cited {
		d.w.add(Note, 0, note)
	}
	d.cited = nil
}

// endCell appends the collected cell to the last row of the current table. A cell that is merged with the one above
// gets its text; a cell over several columns is followed by empty ones. After spreadCells such copies in one table,
// or outside of tables, nothing is copied.
func (d *docx) endCell() {
	t := d.table()
	if t == nil {
		return
	}
	if len(t.rows) == 0 {
		t.rows = append(t.rows, nil)
	}
	row := t.rows[len(t.rows)-1]
	text := clean(t.cell.String())
	if n := len(t.rows); t.goesOn && text == "" && n > 1 && len(row) < len(t.rows[n-2]) && t.copies < spreadCells {
		text = t.rows[n-2][len(row)]
		t.copies += 1 + len(text)/64
	}
	row = append(row, text)
	for i := 1; i < min(t.span, widestSpan) && t.copies < spreadCells; i++ {
		row = append(row, "")
		t.copies++
	}
	t.rows[len(t.rows)-1] = row
	t.cell.Reset()
	t.span, t.goesOn = 0, false
}

// endTable writes the innermost table, then the footnotes and embedded parts that it refers to. A table inside a
// cell becomes text of that cell, and one with a single column paragraphs. Without a table it does nothing.
func (d *docx) endTable() {
	t := d.table()
	if t == nil {
		return
	}
	d.tables = d.tables[:len(d.tables)-1]
	if outer := d.table(); outer != nil {
		for _, row := range t.rows {
			outer.cell.WriteString(joinCells(row) + " ")
		}
		return
	}
	if widest(t.rows) < 2 { // a frame around text
		for _, row := range t.rows {
			d.w.add(Paragraph, 0, joinCells(row))
		}
	} else {
		addTable(d.w, t.rows, t.headed)
	}
	d.addNotes()
	d.addAside()
}

// widest returns the largest number of cells of a row.
func widest(rows [][]string) (most int) {
	for _, row := range rows {
		most = max(most, len(row))
	}
	return most
}
