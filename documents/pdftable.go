package documents

import (
	"regexp"
	"slices"
	"strings"
)

// pdfTable is a table found on a page.
type pdfTable struct {
	rows   [][]string
	headed int // how many first rows are bold; 0 if all rows are
	cells  []pdfCell
}

// Bounds of what is looked at of a page.
const (
	mostTableRows = 3000 // lines of a page that may be tables: more are no page
	widestGap     = 3.5  // the heights of a letter between two rows of a table that no rule holds together
)

// findTables returns the tables of a page: first those drawn with rules, then those whose cells are only aligned in
// columns, from top to bottom. On a page with more than mostTableRows rows it looks for the first kind only.
func findTables(page pdfPage) (tables []pdfTable) {
	horizontal, vertical := splitRules(page.Rules)
	cells := cellsOf(page.Lines, vertical)
	tables = ruledTables(horizontal, vertical, cells)
	used := map[[2]int]bool{}
	for _, t := range tables {
		for _, c := range t.cells {
			used[[2]int{c.line, c.from}] = true
		}
	}
	cells = slices.DeleteFunc(cells, func(c pdfCell) bool { return used[[2]int{c.line, c.from}] })
	rows := rowsOfCells(cells)
	if len(rows) > mostTableRows {
		return tables
	}
	return append(tables, alignedTables(rows, horizontal)...)
}

// alignedTables returns the tables among rows of text, from top to bottom, recognised by the positions of their
// cells; horizontal rules help to tell which rows belong together.
func alignedTables(rows []visualRow, horizontal []pdfRule) (tables []pdfTable) {
	for i := 0; i < len(rows); {
		if len(rows[i].cells) < 2 {
			i++
			continue
		}
		end := blockEnd(rows, i, horizontal)
		t := alignedTable(rows[i:end], horizontal)
		if t == nil {
			t, end = tableAbove(rows[:end], i, horizontal)
		}
		if t != nil {
			tables = append(tables, *t)
		}
		i = end
	}
	return tables
}

// tableAbove returns the table that the first rows from i on form, above text in columns, and the index after its last
// row; nil and len(rows) if there is none. It may end before a row with one cell, and before a gap that is wider than
// most. Of several possible tables it returns the one with most columns, then with most rows; there must be
// leastColumns.
func tableAbove(rows []visualRow, i int, horizontal []pdfRule) (best *pdfTable, end int) {
	end = len(rows)
	var downs []float64
	for k := i + 1; k < len(rows); k++ {
		downs = append(downs, rows[k-1].bottom-rows[k].bottom)
	}
	slices.Sort(downs)
	tries := 0
	for k := len(rows) - 1; k >= i+leastAbove && tries < mostTries; k-- {
		if len(rows[k].cells) > 1 && rows[k-1].bottom-rows[k].bottom <= 1.3*downs[len(downs)/2] {
			continue
		}
		tries++
		t := alignedTable(rows[i:k], horizontal)
		if t == nil || len(t.rows[0]) < leastColumns || best != nil && len(t.rows[0]) <= len(best.rows[0]) {
			continue
		}
		best, end = t, k
	}
	return best, end
}

// Bounds of what tableAbove looks for.
const (
	leastAbove   = 4  // rows of the page
	leastColumns = 3  // fewer may be text in columns
	mostTries    = 20 // places where the table may end
)

// blockEnd returns the index after the last row that may belong to one table with row i, which has at least two cells.
// The table ends where the white space between two rows is much wider than before and no rule lies in it, or before a
// row with one cell if that is wide, lies outside the others, or is the fourth such row in a sequence. Rows with one
// cell at its end belong to it only if they may continue a cell above: they are close to it, indented and narrow.
func blockEnd(rows []visualRow, i int, horizontal []pdfRule) int {
	end := i + 1
	single := 0
	left, right := extent(rows[i])
	widest := 0.0
	for k := i + 1; k < len(rows); k++ {
		above, r := rows[k-1], rows[k]
		down := above.bottom - r.bottom
		size := max(above.cells[0].Size, r.cells[0].Size)
		if down > max(widestGap*size, 1.6*widest) && !spans(horizontal, r.bottom, above.top, left, right) {
			break
		}
		if len(r.cells) < 2 {
			single++
			c := r.cells[0]
			if single > 3 || c.width() > 0.6*(right-left) || c.Right < left || c.Left > right {
				break
			}
			continue
		}
		single = 0
		widest = max(widest, down)
		from, to := extent(r)
		left, right = min(left, from), max(right, to)
		end = k + 1
	}
	// A cell of the last row may go on.
	for end < len(rows) && end > i+1 && len(rows[end].cells) == 1 {
		c, above := rows[end].cells[0], rows[end-1]
		if above.bottom-rows[end].bottom > 1.4*c.Size || c.Left < left+c.Size || c.width() > 0.6*(right-left) {
			break
		}
		end++
	}
	return end
}

// extent returns the left edge of a row's first cell and the right edge of the cell that reaches farthest.
func extent(r visualRow) (left, right float64) {
	left, right = r.cells[0].Left, r.cells[0].Right
	for _, c := range r.cells {
		right = max(right, c.Right)
	}
	return left, right
}

// spans reports whether a horizontal rule at a height from low to high covers at least half of the width from left to
// right.
func spans(horizontal []pdfRule, low, high, left, right float64) bool {
	for _, r := range horizontal {
		if low-2 <= r.Bottom && r.Bottom <= high+2 && min(r.Right, right)-max(r.Left, left) >= 0.5*(right-left) {
			return true
		}
	}
	return false
}

// alignedTable returns the table that the rows form; nil if they have fewer than two rows with two cells or two
// columns, or look like text set in columns or like a list.
func alignedTable(rows []visualRow, horizontal []pdfRule) *pdfTable {
	if fullRows(rows) < 2 {
		return nil
	}
	columns := columnsOf(rows)
	if len(columns) < 2 {
		return nil
	}
	rows = belowCaption(splitAtColumns(rows, columns), columns)
	full := fullRows(rows)
	if full < 2 {
		return nil
	}
	texts := describeColumns(rows, columns)
	prose, short, numbers, apart := 0, 0, 0, 0
	for _, t := range texts {
		if t.prose() {
			prose++
		}
		if t.short() {
			short++
		}
		if t.numbers*2 >= t.cells && t.cells > 0 {
			numbers++
		}
	}
	for _, r := range rows {
		if len(r.cells) >= 2 && distinctColumns(r, columns) {
			apart++
		}
	}
	drawn := drawnByRows(rows, columns)
	switch {
	case prose >= 2 && prose*2 >= len(columns),
		prose == 1 && len(columns) == 2 && !drawn,
		len(columns) == 2 && texts[0].marks*2 > texts[0].cells,
		apart*5 < full*4,
		len(columns) == 2 && full < 3,
		!drawn && (full < 3 || short < len(columns) || numbers == 0 && len(columns) < 3):
		return nil
	}
	return makeTable(rows, columns, horizontal)
}

// fullRows returns how many rows have at least two cells.
func fullRows(rows []visualRow) (full int) {
	for _, r := range rows {
		if len(r.cells) >= 2 {
			full++
		}
	}
	return full
}

// belowCaption returns the rows without the first ones that are the caption of the table: a row with a cell that
// covers two columns and half of the table's width, and after it rows with one cell. If all rows are like that, it
// returns all.
func belowCaption(rows []visualRow, columns []pdfColumn) []visualRow {
	width := columns[len(columns)-1].right - columns[0].left
	for i, r := range rows {
		caption := slices.ContainsFunc(r.cells, func(c pdfCell) bool {
			covered := 0
			for _, column := range columns {
				if c.Left < column.right && c.Right > column.left {
					covered++
				}
			}
			return covered >= 2 && c.width() > width/2
		})
		if !caption && (i == 0 || len(r.cells) > 1) {
			return rows[i:]
		}
	}
	return rows
}

// distinctColumns reports whether the cells of a row stand in columns of their own, in the order of the columns.
func distinctColumns(r visualRow, columns []pdfColumn) bool {
	last := -1
	for _, c := range r.cells {
		at := columnOf(&c, columns)
		if at <= last {
			return false
		}
		last = at
	}
	return true
}

// makeTable returns a table with the rows' texts in the given columns, without leader dots. Rows of the page that
// are further lines of a table row are joined to it (continues), except across a rule. The first rows in bold are
// its header, unless all rows are bold.
func makeTable(rows []visualRow, columns []pdfColumn, horizontal []pdfRule) *pdfTable {
	t := &pdfTable{}
	left, right := columns[0].left, columns[len(columns)-1].right
	pitch := pitchOf(rows, columns)
	banded := rulesPartRows(rows, columns, horizontal)
	bold := 0
	for i, r := range rows {
		texts := make([]string, len(columns))
		for _, c := range r.cells {
			at := columnOf(&c, columns)
			texts[at] = strings.TrimSpace(texts[at] + " " + leaders.ReplaceAllString(c.Text, ""))
			t.cells = append(t.cells, c)
		}
		more := false
		if i > 0 {
			more = continues(rows[:i+1], texts, t.rows[len(t.rows)-1], pitch)
			ruled := spans(horizontal, r.bottom+r.cells[0].Size*0.3, rows[i-1].bottom, left, right)
			more = more && !ruled || banded && !ruled
		}
		if !more {
			t.rows = append(t.rows, texts)
			if bold == len(t.rows)-1 && allBold(r) {
				bold++
			}
			continue
		}
		last := t.rows[len(t.rows)-1]
		for k, text := range texts {
			last[k] = strings.TrimSpace(last[k] + " " + text)
		}
	}
	if bold < len(t.rows) {
		t.headed = bold
	}
	return t
}

// leaders matches dots that lead from an entry to the next column.
var leaders = regexp.MustCompile(`(?:\s?\.){4,}\s*$`)

// allBold reports whether all cells of a row are in bold letters.
func allBold(r visualRow) bool {
	return !slices.ContainsFunc(r.cells, func(c pdfCell) bool { return !c.Bold })
}

// pitchOf returns the median distance, in points, between rows that have a cell in the first column; 0 if there are
// fewer than two such rows.
func pitchOf(rows []visualRow, columns []pdfColumn) float64 {
	var downs []float64
	last := -1
	for i, r := range rows {
		if columnOf(&r.cells[0], columns) != 0 {
			continue
		}
		if last >= 0 {
			downs = append(downs, rows[last].bottom-r.bottom)
		}
		last = i
	}
	if len(downs) == 0 {
		return 0
	}
	slices.Sort(downs)
	return downs[len(downs)/2]
}

// continues reports whether the last of these rows is a further line of the table row above it, and not a new one.
// texts are its cells by column, before those of the table row above, and pitch is from pitchOf. There are three cases:
//
//   - The first column is empty, the row is close below, and hardly any cell is a number.
//   - It is the second row of the table, close below the first and without numbers: a second line of column names.
//   - It is much closer than pitch, and some column is empty.
func continues(rows []visualRow, texts, before []string, pitch float64) bool {
	r, above := rows[len(rows)-1], rows[len(rows)-2]
	down := above.bottom - r.bottom
	size := r.cells[0].Size
	filled, numbers := 0, 0
	for _, text := range texts {
		if text != "" {
			filled++
			if numeric(text) {
				numbers++
			}
		}
	}
	if texts[0] == "" {
		return down < 1.6*size && (numbers == 0 || numbers*2 <= filled && down < 0.9*pitch) && before[0] != ""
	}
	if len(rows) == 2 && numbers == 0 && down < 0.93*pitch {
		return true
	}
	return filled < len(texts) && down < 0.8*pitch
}

// rulesPartRows reports whether horizontal rules part the rows of a table: at least two lie between rows, and four
// out of five of the parts that they make have at most one entry of the first column.
func rulesPartRows(rows []visualRow, columns []pdfColumn, horizontal []pdfRule) bool {
	left, right := columns[0].left, columns[len(columns)-1].right
	bands, single, entries := 0, 0, 0
	for i, r := range rows {
		if i > 0 && spans(horizontal, r.bottom+r.cells[0].Size*0.3, rows[i-1].bottom, left, right) {
			bands++
			if entries <= 1 {
				single++
			}
			entries = 0
		}
		if columnOf(&r.cells[0], columns) == 0 {
			entries++
		}
	}
	if entries <= 1 {
		single++
	}
	return bands >= 2 && single*10 >= (bands+1)*8
}
