package documents

import (
	"slices"
	"strings"
)

// touching is the largest gap, in points, between two rules that meet.
const touching = 3.0

// Bounds of what a table within rules may be. What has more text in a cell is a page with boxes around its
// paragraphs.
const (
	mostLines      = 100 // columns, and rows without text between them
	longestCell    = 1500
	leastFilled    = 0.2 // the share of cells with text; of a drawing most boxes are empty
	mostRuledCells = 20000
)

// ruledTables returns the tables whose cells are separated by vertical and horizontal rules; nil if there are none
// or far too many rules.
func ruledTables(horizontal, vertical []pdfRule, cells []pdfCell) (tables []pdfTable) {
	if len(horizontal) < 2 || len(vertical) < 1 || len(horizontal)*len(vertical) > 4_000_000 {
		return nil
	}
	for _, lattice := range lattices(horizontal, vertical) {
		if t := lattice.table(cells); t != nil {
			tables = append(tables, *t)
		}
	}
	return tables
}

// lattice is a set of rules that touch each other, such as the frame and the inner lines of one table.
type lattice struct {
	horizontal, vertical []pdfRule
}

// lattices returns the groups of rules that touch each other, directly or by way of others. Groups with fewer than
// two horizontal rules or no vertical one are left out.
func lattices(horizontal, vertical []pdfRule) []lattice {
	parents := make([]int, len(horizontal)+len(vertical))
	for i := range parents {
		parents[i] = i
	}
	root := func(i int) int {
		for parents[i] != i {
			parents[i] = parents[parents[i]]
			i = parents[i]
		}
		return i
	}
	for i, h := range horizontal {
		for k, v := range vertical {
			if v.Left >= h.Left-touching && v.Left <= h.Right+touching &&
				h.Bottom >= v.Bottom-touching && h.Bottom <= v.Top+touching {
				parents[root(i)] = root(len(horizontal) + k)
			}
		}
	}
	sets := map[int]*lattice{}
	var order []int
	for i := range parents {
		at := root(i)
		if sets[at] == nil {
			sets[at] = &lattice{}
			order = append(order, at)
		}
		if i < len(horizontal) {
			sets[at].horizontal = append(sets[at].horizontal, horizontal[i])
		} else {
			sets[at].vertical = append(sets[at].vertical, vertical[i-len(horizontal)])
		}
	}
	var all []lattice
	for _, at := range order {
		if len(sets[at].horizontal) >= 2 && len(sets[at].vertical) >= 1 {
			all = append(all, *sets[at])
		}
	}
	return all
}

// places sorts values, in place, and returns them in ascending order without those that are within `touching`
// points of the one before.
func places(values []float64) (distinct []float64) {
	slices.Sort(values)
	for _, v := range values {
		if n := len(distinct); n == 0 || v-distinct[n-1] > touching {
			distinct = append(distinct, v)
		}
	}
	return distinct
}

// table returns the table that the rules form around cells of the page; nil if it would be too large or what they
// enclose does not look like one. If the rules only part groups of rows and columns, it is the table by the
// alignment of cells, where that has more columns.
func (l *lattice) table(all []pdfCell) *pdfTable {
	var xs, ys []float64
	for _, v := range l.vertical {
		xs = append(xs, v.Left)
		ys = append(ys, v.Bottom, v.Top)
	}
	for _, h := range l.horizontal {
		ys = append(ys, h.Bottom)
		xs = append(xs, h.Left, h.Right)
	}
	xs, ys = places(xs), places(ys)
	if len(xs) < 3 || len(ys) < 2 || len(xs) > mostLines {
		return nil
	}
	columns, bands := len(xs)-1, len(ys)-1
	if columns*bands > mostRuledCells {
		return nil
	}
	byBand := make([][]pdfCell, bands) // from the top on
	t := &pdfTable{}
	for _, c := range all {
		x := c.Left + min(c.width(), c.Size)/2
		y := c.middle()
		if x < xs[0] || x > xs[columns] || y < ys[0] || y > ys[bands] {
			continue
		}
		at, _ := slices.BinarySearch(ys, y)
		band := bands - max(at, 1)
		byBand[band] = append(byBand[band], c)
		t.cells = append(t.cells, c)
	}
	for _, cells := range byBand {
		if len(cells) == 0 {
			continue
		}
		t.rows = append(t.rows, bandRows(cells, xs, bands)...)
	}
	if !plausibleTable(t.rows, columns) {
		return nil
	}
	t.rows = dropEmptyColumns(t.rows)
	if len(t.rows) > bands { // rules part groups of rows, and maybe of columns
		aligned := alignedTable(rowsOfCells(t.cells), l.horizontal)
		if aligned != nil && len(aligned.rows[0]) > len(t.rows[0]) && len(aligned.cells) == len(t.cells) {
			return aligned
		}
	}
	for t.headed < len(t.rows) && boldBand(byBand, t.headed) {
		t.headed++
	}
	if t.headed == len(t.rows) {
		t.headed = 0
	}
	return t
}

// boldBand reports whether all text is bold in the nth band, from 0, that has text. A band lies between two
// neighbouring horizontal rules.
func boldBand(byBand [][]pdfCell, n int) bool {
	for _, cells := range byBand {
		if len(cells) == 0 {
			continue
		}
		if n == 0 {
			return !slices.ContainsFunc(cells, func(c pdfCell) bool { return !c.Bold })
		}
		n--
	}
	return false
}

// bandRows returns the rows of a table between two horizontal rules, one text for each column: usually one row. If
// a table with few rules has three or more lines of text between these, each with a cell in the same first column,
// it returns a row for each line. xs are the edges of columns and bands is the number of spaces between rules that
// the table has.
func bandRows(cells []pdfCell, xs []float64, bands int) [][]string {
	lines := rowsOfCells(cells)
	columns := len(xs) - 1
	column := func(c *pdfCell) int {
		at, _ := slices.BinarySearch(xs, c.Left+min(c.width(), c.Size)/2)
		return min(max(at-1, 0), columns-1)
	}
	many := len(lines) >= 3 && bands <= 4
	for _, line := range lines {
		many = many && len(line.cells) >= 2 && column(&line.cells[0]) == column(&lines[0].cells[0])
	}
	rows := [][]string{make([]string, columns)}
	for i, line := range lines {
		if many && i > 0 {
			rows = append(rows, make([]string, columns))
		}
		row := rows[len(rows)-1]
		for _, c := range line.cells {
			at := column(&c)
			row[at] = strings.TrimSpace(row[at] + " " + c.Text)
		}
	}
	return rows
}

// plausibleTable reports whether texts between rules are a table: at least two rows have two cells with text, two
// columns have text, a fifth of the cells is filled, and no cell holds a page of text.
func plausibleTable(rows [][]string, columns int) bool {
	filled, several := 0, 0
	used := make([]bool, columns)
	for _, row := range rows {
		cells := 0
		for i, cell := range row {
			if cell == "" {
				continue
			}
			if len(cell) > longestCell {
				return false
			}
			used[i] = true
			cells++
		}
		filled += cells
		if cells >= 2 {
			several++
		}
	}
	count := 0
	for _, u := range used {
		if u {
			count++
		}
	}
	return several >= 2 && count >= 2 && float64(filled) >= leastFilled*float64(count*len(rows))
}

// dropEmptyColumns returns the rows without the columns that are empty in all of them. There must be a row.
func dropEmptyColumns(rows [][]string) [][]string {
	var keep []int
	for column := range rows[0] {
		if slices.ContainsFunc(rows, func(row []string) bool { return row[column] != "" }) {
			keep = append(keep, column)
		}
	}
	out := make([][]string, len(rows))
	for i, row := range rows {
		for _, column := range keep {
			out[i] = append(out[i], row[column])
		}
	}
	return out
}
