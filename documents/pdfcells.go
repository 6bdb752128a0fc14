package documents

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// pdfCell is a part of a line that may be a cell of a table: wide white space or a vertical rule separates it from the
// next part.
type pdfCell struct {
	Text string
	pdfBox
	Size float64
	Bold bool
	line int // the index of its line among those of the page
	from int // its words are Words[from:to] of the line; both 0 if the line has no Words
	to   int
	// words are those of the line.
	words []pdfWord
}

// part returns the cell that has the words from:to of the line, which must be in this cell and at least one. Its
// words share memory with the cell's.
func (c *pdfCell) part(from, to int) pdfCell {
	p := *c
	words := c.words[from-c.from : to-c.from]
	p.from, p.to, p.words = from, to, words
	p.Text = joinWords(words)
	p.Left, p.Right = words[0].Left, words[0].Right
	for _, w := range words {
		p.Left, p.Right = min(p.Left, w.Left), max(p.Right, w.Right)
	}
	return p
}

// middle returns the height of the cell's middle on the page.
func (c *pdfCell) middle() float64 { return (c.Bottom + c.Top) / 2 }

// width returns the cell's width, in the page's units.
func (c *pdfCell) width() float64 { return c.Right - c.Left }

// wideSpace is the least width of white space between two cells, as a share of the height of the letters.
const wideSpace = 0.9

// columnSpace is the least width of white space at which a cell is split that reaches over two columns, as a share of
// the height of the letters. The space between two words of a sentence is narrower.
const columnSpace = 0.45

// cellsOf splits the lines of a page into cells, in the order of the lines: at wide white space and where one of
// the vertical rules lies between two words. A line whose words have no places is one cell; lines whose place is
// unknown are left out.
func cellsOf(lines []pdfLine, vertical []pdfRule) (cells []pdfCell) {
	for n, l := range lines {
		if l.Size == 0 {
			continue
		}
		cell := pdfCell{
			Text: strings.TrimSpace(l.Text), pdfBox: pdfBox{l.Left, l.Bottom, l.Right, l.Top},
			Size: l.Size, Bold: l.Bold, line: n,
		}
		if l.Words == nil {
			cells = append(cells, cell)
			continue
		}
		cell.words = l.Words
		var rules []float64 // where vertical rules cross the line
		for _, r := range vertical {
			if middle := (l.Bottom + l.Top) / 2; r.Bottom <= middle && middle <= r.Top {
				rules = append(rules, r.Left)
			}
		}
		slices.Sort(rules)
		begin := 0
		for i := 1; i <= len(l.Words); i++ {
			if i < len(l.Words) {
				from, to := l.Words[i-1].Right, l.Words[i].Left
				at, _ := slices.BinarySearch(rules, min(from, to)-0.5)
				crossed := at < len(rules) && rules[at] <= max(from, to)+0.5
				if to-from < wideSpace*l.Size && !crossed {
					continue
				}
			}
			cells = append(cells, cell.part(begin, i))
			begin = i
		}
	}
	return cells
}

// visualRow is the cells at one height of a page, from left to right. It has at least one.
type visualRow struct {
	cells       []pdfCell
	bottom, top float64
}

// rowsOfCells groups cells into rows by their height on the page, from top to bottom, each from left to right.
// Cells are of one row if they overlap by 55 % of the lower height. It does not change cells.
func rowsOfCells(cells []pdfCell) (rows []visualRow) {
	sorted := slices.Clone(cells)
	slices.SortStableFunc(sorted, func(a, b pdfCell) int { return cmp.Compare(b.middle(), a.middle()) })
	for _, c := range sorted {
		if n := len(rows); n > 0 {
			r := &rows[n-1]
			low := min(r.top, c.Top) - max(r.bottom, c.Bottom)
			if low >= 0.55*min(r.top-r.bottom, c.Top-c.Bottom) {
				r.cells = append(r.cells, c)
				continue
			}
		}
		rows = append(rows, visualRow{cells: []pdfCell{c}, bottom: c.Bottom, top: c.Top})
	}
	for i := range rows {
		r := &rows[i]
		slices.SortStableFunc(r.cells, func(a, b pdfCell) int { return cmp.Compare(a.Left, b.Left) })
	}
	return rows
}

// drawnByRows reports whether the PDF draws four fifths of the rows that begin in the first column after the row
// above, as programs draw a table. For text set in columns it is false: that is drawn column by column.
func drawnByRows(rows []visualRow, columns []pdfColumn) bool {
	pairs, ordered := 0, 0
	last := -1
	for i, r := range rows {
		least, most := r.cells[0].line, r.cells[0].line
		for _, c := range r.cells {
			least, most = min(least, c.line), max(most, c.line)
		}
		if i > 0 && columnOf(&r.cells[0], columns) == 0 {
			pairs++
			if last < least {
				ordered++
			}
			last = most
		}
		last = max(last, most)
	}
	return pairs > 0 && ordered*5 >= pairs*4
}

// pdfColumn is the left and right edge of a column of a table.
type pdfColumn struct{ left, right float64 }

// columnsOf returns the columns of a table, from left to right. White space that no cell crosses separates them. If
// that gives fewer columns than most rows have cells, up to 30 % of the rows may have a cell that crosses it, such
// as a heading over several columns.
func columnsOf(rows []visualRow) (columns []pdfColumn) {
	counts := map[int]int{}
	tables := 0
	for _, r := range rows {
		if len(r.cells) >= 2 {
			counts[len(r.cells)]++
			tables++
		}
	}
	usual, most := 0, 0
	for n, times := range counts {
		if times > most || times == most && n > usual {
			usual, most = n, times
		}
	}
	for _, share := range []float64{0, 0.05, 0.1, 0.2, 0.3} {
		if share > 0 && share*float64(tables) < 1 {
			continue
		}
		columns = columnsBetween(rows, int(share*float64(tables)))
		if len(columns) >= usual {
			return columns
		}
	}
	return columns
}

// columnsBetween returns the columns, from left to right, that are separated by white space which at most `few`
// cells cross. Rows with a single cell do not count.
func columnsBetween(rows []visualRow, few int) (columns []pdfColumn) {
	type edge struct {
		x    float64
		step int
	}
	var edges []edge
	for _, r := range rows {
		if len(r.cells) < 2 {
			continue
		}
		for _, c := range r.cells {
			edges = append(edges, edge{c.Left, 1}, edge{max(c.Right, c.Left), -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.step, b.step)) })
	over := 0
	inside := false
	for _, e := range edges {
		over += e.step
		switch {
		case !inside && over > few:
			columns = append(columns, pdfColumn{e.x, e.x})
			inside = true
		case inside && over <= few:
			columns[len(columns)-1].right = e.x
			inside = false
		}
	}
	return columns
}

// splitAtColumns returns the rows with each cell that reaches over several columns split where the white space
// between two columns lies between two of its words that are at least columnSpace apart. Rows with a single cell
// stay whole. It does not change rows.
func splitAtColumns(rows []visualRow, columns []pdfColumn) []visualRow {
	split := slices.Clone(rows)
	for i := range split {
		r := &split[i]
		if len(r.cells) < 2 {
			continue
		}
		var cells []pdfCell
		for _, c := range r.cells {
			begin := c.from
			for k := 1; k < len(c.words); k++ {
				from, to := c.words[k-1].Right, c.words[k].Left
				if to-from >= columnSpace*c.Size && liesBetween(columns, from, to) {
					cells = append(cells, c.part(begin, c.from+k))
					begin = c.from + k
				}
			}
			if begin > c.from {
				c = c.part(begin, c.to)
			}
			cells = append(cells, c)
		}
		r.cells = cells
	}
	return split
}

// liesBetween reports whether the white space from left to right overlaps that between two neighbouring columns.
// There must be a column.
func liesBetween(columns []pdfColumn, left, right float64) bool {
	for i, next := range columns[1:] {
		if max(left, columns[i].right) < min(right, next.left) {
			return true
		}
	}
	return false
}

// columnOf returns the index of the column that a cell overlaps most, or else of the nearest one; of equal ones the
// first.
func columnOf(c *pdfCell, columns []pdfColumn) int {
	best := 0
	most := math.Inf(-1)
	for i, column := range columns {
		if over := min(c.Right, column.right) - max(c.Left, column.left); over > most {
			best = i
			most = over
		}
	}
	return best
}

// listMark matches a mark that stands before an item of a list or before a footnote: a bullet, "2.", "(a)", "[3]".
var listMark = regexp.MustCompile(`^(?:[-*•‣◦–▪■o✓➢]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxlc]+)[.)]|\[\d{1,3}\])$`)

// columnText counts what the cells of one column look like.
type columnText struct {
	cells   int
	words   int
	lower   int // cells that begin with a small letter
	filled  int // cells that fill nearly all of the column's width
	numbers int
	marks   int // cells that are marks of a list
}

// prose reports whether a column looks like running text, and not like values of a table: at least four words in a
// cell on average, and many cells begin with a small letter or fill the column.
func (t *columnText) prose() bool {
	return t.cells > 0 && t.words >= 4*t.cells && (t.lower*5 >= 2*t.cells || t.filled*5 >= 3*t.cells)
}

// short reports whether the cells of a column have at most three words on average, or half of them are numbers.
func (t *columnText) short() bool {
	return t.cells > 0 && (t.words <= 3*t.cells || t.numbers*2 >= t.cells)
}

// describeColumns returns a columnText for each column, from the cells of the rows.
func describeColumns(rows []visualRow, columns []pdfColumn) []columnText {
	texts := make([]columnText, len(columns))
	for _, r := range rows {
		for _, c := range r.cells {
			at := columnOf(&c, columns)
			t := &texts[at]
			t.cells++
			t.words += len(strings.Fields(c.Text))
			for _, first := range c.Text {
				if unicode.IsLower(first) {
					t.lower++
				}
				break
			}
			if c.width() >= 0.8*(columns[at].right-columns[at].left) {
				t.filled++
			}
			if numeric(c.Text) {
				t.numbers++
			}
			if listMark.MatchString(c.Text) {
				t.marks++
			}
		}
	}
	return texts
}
