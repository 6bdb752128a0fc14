package documents

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// table writes a table row by row, each cell with the name of its column, after its caption. A table used only for
// the layout of a page is read as the blocks in its cells. Rows at the top whose cells are all headings name the
// columns, unless all rows are like that.
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
	headed := 0
	for headed < len(rows) && rows[headed].header {
		headed++
	}
	if headed == len(rows) { // all of it in <th>
		headed = 0
	}
	addTable(d.w, spread(rows, headed), headed)
}

// Bounds of what cells that span columns and rows are copied to: a table of few bytes may ask for billions of cells.
const (
	widestSpan  = 200
	spreadCells = 1 << 16 // copies in one table
	spreadBytes = 1 << 20
)

// spread returns the texts of a table's cells by row and column. A cell over several rows is repeated in each of them.
// A cell over several columns is repeated in the first `headed` rows, where it is a name; in other rows it stands only
// in the first of its columns. Beyond spreadCells or spreadBytes nothing is repeated.
func spread(rows []row, headed int) [][]string {
	texts := make([][]string, len(rows))
	type rest struct {
		text string
		rows int
	}
	var above []rest // by column, what comes down from rows above
	copies, size := 0, 0
	copied := func(text string) bool {
		copies++
		size += len(text)
		return copies <= spreadCells && size <= spreadBytes
	}
	for i, row := range rows {
		var cells []string
		down := func() {
			for column := len(cells); column < len(above) && above[column].rows > 0; column++ {
				above[column].rows--
				text := above[column].text
				if !copied(text) {
					text = ""
				}
				cells = append(cells, text)
			}
		}
		for _, cell := range row.cells {
			down()
			text := clean(textBelow(cell))
			columns := span(cell, "colspan")
			under := min(span(cell, "rowspan")-1, len(rows)-i-1)
			for k := range columns {
				column := len(cells)
				switch {
				case k == 0:
					cells = append(cells, text)
				case copies > spreadCells:
				case i < headed && copied(text):
					cells = append(cells, text)
				default:
					copies++
					cells = append(cells, "")
				}
				if under > 0 && column < widestSpan && len(cells) > column {
					for len(above) <= column {
						above = append(above, rest{})
					}
					above[column] = rest{cells[column], under}
				}
			}
		}
		down()
		texts[i] = cells
	}
	return texts
}

// span returns how many columns or rows a cell spans, by the attribute colspan or rowspan: from 1 to widestSpan.
func span(cell *html.Node, attributeName string) int {
	n, err := strconv.Atoi(strings.TrimSpace(attribute(cell, attributeName)))
	if err != nil || n < 1 {
		return 1
	}
	return min(n, widestSpan)
}

// row is a row of an HTML table.
type row struct {
	cells  []*html.Node
	header bool // all of its cells are headings of columns
}

// rowsOf returns the rows that have cells, and the last caption, of a table, without those of tables inside it and
// hidden ones. caption is nil if there is none.
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
						corner := cell.FirstChild == nil && len(r.cells) == 1
						r.header = r.header && (cell.DataAtom == atom.Th || emphasised(cell) || corner)
					}
				}
				r.header = len(r.cells) > 1 && r.header || len(r.cells) > 0 && head
				if len(r.cells) > 0 {
					rows = append(rows, r)
				}
			}
		}
	}
	walk(table, false)
	return rows, caption
}

// emphasised reports whether all text of a cell is bold; false for a cell without text.
func emphasised(cell *html.Node) bool {
	found := false
	for c := cell.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode && strings.TrimSpace(c.Data) == "":
		case c.DataAtom == atom.B || c.DataAtom == atom.Strong:
			found = true
		default:
			return false
		}
	}
	return found
}

// arranges reports whether a table only serves the layout of a page: it has one column, its role says so, or its cells
// have tables, headings or several paragraphs.
func arranges(table *html.Node, rows []row) bool {
	if role := attribute(table, "role"); role == "presentation" || role == "none" {
		return true
	}
	widest, large := 0, false
	for _, r := range rows {
		widest = max(widest, len(r.cells))
		for _, cell := range r.cells {
			large = large || hasLayoutBlocks(cell, 0)
		}
	}
	return widest < 2 || large
}

// hasLayoutBlocks reports whether a cell has such blocks as only a layout table has: tables, headings or more than two
// paragraphs. paragraphs counts those before n.
func hasLayoutBlocks(n *html.Node, paragraphs int) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.DataAtom {
		case atom.Table, atom.H1, atom.H2, atom.H3, atom.H4, atom.Article, atom.Section, atom.Nav, atom.Pre:
			return true
		case atom.P:
			if paragraphs++; paragraphs > 2 {
				return true
			}
		}
		if hasLayoutBlocks(c, paragraphs) {
			return true
		}
	}
	return false
}
