package documents

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// skipped are elements whose text is not the document's: programs, controls, and what
// says nothing without its picture.
var skipped = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Template: true, atom.Noscript: true, atom.Svg: true, atom.Math: false,
	atom.Head: true, atom.Button: true, atom.Select: true, atom.Option: true, atom.Input: true, atom.Textarea: true,
	atom.Iframe: true, atom.Object: true, atom.Canvas: true, atom.Audio: true, atom.Video: true, atom.Datalist: true,
	atom.Dialog: true,
}

// inline are elements inside a line of text; every other one begins a block.
var inline = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Bdo: true, atom.Cite: true, atom.Code: true,
	atom.Data: true,
	atom.Del:  true, atom.Dfn: true, atom.Em: true, atom.Font: true, atom.I: true, atom.Ins: true, atom.Kbd: true,
	atom.Label: true,
	atom.Mark:  true, atom.Q: true, atom.S: true, atom.Samp: true, atom.Small: true, atom.Span: true, atom.Strong: true,
	atom.Sub: true,
	atom.Sup: true, atom.Time: true, atom.Tt: true, atom.U: true, atom.Var: true, atom.Wbr: true, atom.Img: true,
	atom.Math: true,
	atom.Big:  true, atom.Strike: true, atom.Acronym: true, atom.Nobr: true, atom.Ruby: true, atom.Rt: true,
}

// dom writes the blocks of a tree of HTML.
type dom struct {
	w     *writer
	line  strings.Builder // of the paragraph or item that is being read
	kind  Kind
	level int
	lists []list // around the place that is being read, the outermost first
}

type list struct {
	ordered bool
	next    int
}

// writeDOM adds the text below n.
func writeDOM(w *writer, n *html.Node) {
	d := &dom{w: w, kind: Paragraph}
	d.node(n)
	d.flush()
}

// flush ends the block that is being read.
func (d *dom) flush() {
	if d.line.Len() > 0 {
		d.w.add(d.kind, d.level, d.line.String())
		d.line.Reset()
	}
}

func (d *dom) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		d.node(c)
	}
}

// block reads the children of n as blocks of a kind of their own.
func (d *dom) block(n *html.Node, kind Kind, level int) {
	d.flush()
	before, at := d.kind, d.level
	d.kind, d.level = kind, level
	d.children(n)
	d.flush()
	d.kind, d.level = before, at
}

func (d *dom) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		d.line.WriteString(n.Data)
		return
	case html.DocumentNode:
		d.children(n)
		return
	case html.ElementNode:
	default:
		return
	}
	if skipped[n.DataAtom] || hidden(n) || refersToNote(n) {
		return
	}
	if kind := attribute(n, "role"); kind == "doc-endnotes" || kind == "doc-footnote" ||
		attribute(n, "epub:type") == "footnote" ||
		attribute(n, "class") == "footnotes" {
		d.notes(n)
		return
	}
	switch n.DataAtom {
	case atom.Br:
		d.line.WriteByte('\n')
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		d.flush()
		d.w.add(Heading, int(n.Data[1]-'0'), textBelow(n))
	case atom.Ul, atom.Ol, atom.Menu:
		d.flush()
		d.lists = append(d.lists, list{ordered: n.DataAtom == atom.Ol, next: first(n)})
		d.children(n)
		d.flush()
		d.lists = d.lists[:len(d.lists)-1]
	case atom.Li:
		d.item(n)
	case atom.Dt:
		d.block(n, Item, max(1, len(d.lists)))
	case atom.Dd:
		d.block(n, Item, max(1, len(d.lists))+1)
	case atom.Pre:
		d.flush()
		d.w.add(Code, 0, codeBelow(n))
	case atom.Table:
		d.flush()
		d.table(n)
	case atom.Figcaption, atom.Caption:
		d.block(n, Caption, 0)
	case atom.Td, atom.Th: // of a table that arranges a page
		d.block(n, Paragraph, 0)
	default:
		if inline[n.DataAtom] {
			d.children(n)
			return
		}
		d.block(n, d.kind, d.level)
	}
}

// refersToNote reports whether a node is the mark of a footnote, or its way back.
func refersToNote(n *html.Node) bool {
	switch attribute(n, "role") {
	case "doc-noteref", "doc-backlink":
		return true
	}
	return attribute(n, "epub:type") == "noteref"
}

// notes adds footnotes, one block each.
func (d *dom) notes(n *html.Node) {
	d.flush()
	found := false
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.DataAtom == atom.Li {
				found = true
				d.block(c, Note, 0)
			} else {
				walk(c)
			}
		}
	}
	if walk(n); !found {
		d.block(n, Note, 0)
	}
}

// item adds an item of a list, with its number where the list counts.
func (d *dom) item(n *html.Node) {
	d.flush()
	mark := ""
	if depth := len(d.lists); depth > 0 && d.lists[depth-1].ordered {
		l := &d.lists[depth-1]
		mark = strconv.Itoa(l.next) + ". "
		l.next++
	}
	d.line.WriteString(mark)
	before, at := d.kind, d.level
	d.kind = Item
	d.level = max(1, len(d.lists))
	d.childrenOfItem(n, len(mark))
	d.kind, d.level = before, at
}

// childrenOfItem reads an item. Its first paragraph is on the line of its number.
func (d *dom) childrenOfItem(n *html.Node, mark int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && c.DataAtom == atom.P &&
			strings.TrimSpace(d.line.String()[min(mark, d.line.Len()):]) == "" {
			d.children(c)
			d.flush()
			mark = 0
			continue
		}
		d.node(c)
	}
	if strings.TrimSpace(d.line.String()) == "" || mark > 0 && d.line.Len() <= mark {
		d.line.Reset() // nothing but its number
	}
	d.flush()
}

func first(n *html.Node) int {
	if start, err := strconv.Atoi(attribute(n, "start")); err == nil && start >= 0 && start < 1<<20 {
		return start
	}
	return 1
}

// table adds a table of values row by row, each cell behind the name of its column; a
// table that arranges a page is read as the blocks in its cells.
func (d *dom) table(n *html.Node) {
	rows, caption := rowsOf(n)
	if caption != nil {
		d.block(caption, Caption, 0)
	}
	if arranges(n, rows) {
		for _, row := range rows {
			for _, cell := range row.cells {
				d.block(cell, Paragraph, 0)
			}
		}
		return
	}
	texts := make([][]string, len(rows))
	headed := 0
	for i, row := range rows {
		for _, cell := range row.cells {
			texts[i] = append(texts[i], clean(textBelow(cell)))
		}
		if row.header && headed == i {
			headed++
		}
	}
	addTable(d.w, texts, headed)
}

// addTable adds the rows of a table; the first `headed` of them name the columns.
func addTable(w *writer, rows [][]string, headed int) {
	header := ""
	if headed > 0 {
		header = joinCells(rows[headed-1])
	}
	for _, row := range rows[:headed] {
		w.addRow(Row, 0, "", joinCells(row))
	}
	for _, row := range rows[headed:] {
		w.addRow(Row, 0, header, joinCells(row))
	}
}

// joinCells writes the cells of a row; it is empty where all are blank.
func joinCells(cells []string) string {
	last := len(cells)
	for last > 0 && strings.TrimSpace(cells[last-1]) == "" {
		last--
	}
	return strings.Join(cells[:last], " | ")
}

type row struct {
	cells  []*html.Node
	header bool // all of its cells are headings of columns
}

// rowsOf finds the rows of a table, without those of tables inside it.
func rowsOf(table *html.Node) (rows []row, caption *html.Node) {
	var walk func(n *html.Node, head bool)
	walk = func(n *html.Node, head bool) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch {
			case c.Type != html.ElementNode || hidden(c):
			case c.DataAtom == atom.Caption:
				caption = c
			case c.DataAtom == atom.Thead, c.DataAtom == atom.Tbody, c.DataAtom == atom.Tfoot:
				walk(c, c.DataAtom == atom.Thead)
			case c.DataAtom == atom.Tr:
				r := row{header: true}
				for cell := c.FirstChild; cell != nil; cell = cell.NextSibling {
					if cell.DataAtom == atom.Td || cell.DataAtom == atom.Th {
						r.cells = append(r.cells, cell)
						r.header = r.header && cell.DataAtom == atom.Th
					}
				}
				r.header = len(r.cells) > 0 && (r.header || head)
				if len(r.cells) > 0 {
					rows = append(rows, r)
				}
			}
		}
	}
	walk(table, false)
	return rows, caption
}

// arranges reports whether a table is there for the look of a page: it has one column,
// says so, or its cells hold tables, headings or several paragraphs.
func arranges(table *html.Node, rows []row) bool {
	if role := attribute(table, "role"); role == "presentation" || role == "none" {
		return true
	}
	widest, large := 0, false
	for _, r := range rows {
		widest = max(widest, len(r.cells))
		for _, cell := range r.cells {
			large = large || holds(cell, 0)
		}
	}
	return widest < 2 || large
}

// holds reports whether a cell has the blocks of a page.
func holds(n *html.Node, paragraphs int) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.DataAtom {
		case atom.Table, atom.H1, atom.H2, atom.H3, atom.H4, atom.Article, atom.Section, atom.Nav, atom.Pre:
			return true
		case atom.P:
			if paragraphs++; paragraphs > 2 {
				return true
			}
		}
		if holds(c, paragraphs) {
			return true
		}
	}
	return false
}

// textBelow returns the text of a node, on one line.
func textBelow(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
			return
		}
		if n.Type == html.ElementNode && (skipped[n.DataAtom] || hidden(n)) {
			return
		}
		breaks := n.Type == html.ElementNode && !inline[n.DataAtom]
		if breaks {
			b.WriteByte(' ')
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
		if breaks {
			b.WriteByte(' ')
		}
	}
	walk(n)
	return b.String()
}

// codeBelow returns the text of a node with its lines.
func codeBelow(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			b.WriteString(n.Data)
		case n.DataAtom == atom.Br:
			b.WriteByte('\n')
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(n)
	return b.String()
}

func hidden(n *html.Node) bool {
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return a.Val != "until-found"
		case "aria-hidden":
			if a.Val == "true" {
				return true
			}
		case "style":
			style := strings.ReplaceAll(strings.ToLower(a.Val), " ", "")
			if strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden") {
				return true
			}
		}
	}
	return false
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
