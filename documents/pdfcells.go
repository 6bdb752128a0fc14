package documents

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// pdfCell is a piece of a line with white space around it that is wider than that between words, or with a rule
// between it and the next one.
type pdfCell struct {
	Text string
	pdfBox
	Size float64
	Bold bool
	line int // the index of its line among those of the page
	from int // its words in the line: from this one to the one before `to`; 0 and 0 where the line has none
	to   int
}

func (c *pdfCell) middle() float64 { return (c.Bottom + c.Top) / 2 }

func (c *pdfCell) width() float64 { return c.Right - c.Left }

// wideSpace is how wide white space is, as a share of the height of letters, that is more than that
// between words.
const wideSpace = 0.9

// cellsOf returns the cells of the lines of a page whose places are known, in their order.
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
			part := cell
			part.Text = joinWords(l.Words[begin:i])
			part.from, part.to = begin, i
			part.Left, part.Right = l.Words[begin].Left, l.Words[begin].Right
			for _, w := range l.Words[begin:i] {
				part.Left, part.Right = min(part.Left, w.Left), max(part.Right, w.Right)
			}
			cells = append(cells, part)
			begin = i
		}
	}
	return cells
}

// visualRow is what stands at one height of a page, from left to right.
type visualRow struct {
	cells       []pdfCell
	bottom, top float64
}

// rowsOfCells returns the rows that cells stand in, from the top of the page on.
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

// drawnByRows reports whether PDFium reads rows one after the other, as a program that writes a table draws them:
// nothing of an entry of the first column, and of the lines below it up to the next entry, is read behind the
// next one. Of texts in columns the first is read to its end.
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

// pdfColumn is where the cells of a column of a table are.
type pdfColumn struct{ left, right float64 }

// columnsOf returns the columns that cells stand in: white space parts them that no cell crosses, but those of a
// few rows, such as names over several columns. There are as many columns as most rows have cells, or more.
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

// columnsBetween returns the columns between which at most `few` cells stand.
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
	slices.SortFunc(
		edges,
		func(a, b edge) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.step, b.step)) },
	)
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

// columnOf returns the column that a cell overlaps most, or is nearest to.
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

// listMark matches what stands before an item of a list, or before a note.
var listMark = regexp.MustCompile(`^(?:[-*•‣◦–▪■o✓➢]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxlc]+)[.)]|\[\d{1,3}\])$`)

// columnText is what the cells of a column look like together.
type columnText struct {
	cells   int
	words   int
	lower   int // cells that begin with a small letter
	filled  int // cells that fill nearly all of the column's width
	numbers int
	marks   int // cells that are marks of a list
}

// prose reports whether a column looks like lines of a text.
func (t *columnText) prose() bool {
	return t.cells > 0 && t.words >= 4*t.cells && (t.lower*5 >= 2*t.cells || t.filled*5 >= 3*t.cells)
}

// short reports whether the cells of a column are single words, numbers or the like.
func (t *columnText) short() bool {
	return t.cells > 0 && (t.words <= 3*t.cells || t.numbers*2 >= t.cells)
}

// describeColumns returns what the cells of each column look like.
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
