package documents

import (
	"math"
	"slices"
	"strings"
)

// pdfCell is a piece of a line with white space around it that is wider than that between words.
type pdfCell struct {
	Text  string  `json:"t"`
	Left  float64 `json:"l"`
	Right float64 `json:"r"`
}

// A PDF has no tables, but letters that stand below each other. Lines are one where their cells do:
// a grid is of two lines at least, and of three where it has two columns, which texts in two
// columns may seem to have for a moment.
const (
	fewestRows  = 2
	rowsToTell  = 200  // a table is told by its first rows, so that no page takes the square of its lines
	fullColumns = 0.85 // the share of its columns' width that a grid leaves free at least; texts fill it
)

// grid is a table that is being recognised.
type grid struct {
	columns []pdfCell // their extent
	rows    [][]string
	lines   int
	bold    int // rows from the first on in bold letters
	last    pdfLine
	pitch   float64 // the least distance of two rows
}

// gridAt returns the table that begins with the first of some lines; nil where none does.
func gridAt(lines []pdfLine) *grid {
	if len(lines) == 0 || len(lines[0].Cells) < 2 {
		return nil
	}
	g := &grid{pitch: math.Inf(1)}
	whole := 0 // lines with a cell in each column
	filled := 0.0
	for _, line := range lines[:min(len(lines), rowsToTell)] {
		if len(line.Cells) != len(lines[0].Cells) || !g.fits(line) {
			break
		}
		if whole > 0 {
			down := g.last.Bottom - line.Bottom
			if down < line.Size/2 {
				break
			}
			g.pitch = min(g.pitch, down)
		}
		g.widen(line)
		for _, c := range line.Cells {
			filled += c.Right - c.Left
		}
		whole++
		g.last = line
	}
	width := 0.0
	for _, c := range g.columns {
		width += c.Right - c.Left
	}
	if whole < fewestRows || len(g.columns) == 2 && whole == fewestRows || filled > fullColumns*width*float64(whole) {
		return nil
	}
	g.take(lines)
	if g.lines < whole { // columns grew into each other
		return nil
	}
	return g
}

// take makes rows of the lines of the table: a line that has nothing in the first column goes on
// with the row above, and so does one that is nearer to it than rows are to each other.
func (g *grid) take(lines []pdfLine) {
	for i, line := range lines {
		at, ok := g.places(line)
		down := 0.0
		if i > 0 {
			down = g.last.Bottom - line.Bottom
		}
		if !ok || down > 3*max(g.pitch, line.Size) || down < -2*line.Size {
			return
		}
		more := i > 0 && (at[0] > 0 || len(line.Cells) < len(g.columns) && down < 0.8*g.pitch)
		if !more {
			g.rows = append(g.rows, make([]string, len(g.columns)))
			if line.Bold && g.bold == len(g.rows)-1 {
				g.bold++
			}
		}
		row := g.rows[len(g.rows)-1]
		for n, cell := range cellsOf(line) {
			if row[at[n]] != "" {
				row[at[n]] += " "
			}
			row[at[n]] += strings.TrimSpace(cell.Text)
		}
		g.lines = i + 1
		g.last = line
	}
}

// header returns how many rows name the columns.
func (g *grid) header() int {
	if g.bold > 0 && g.bold < len(g.rows) {
		return g.bold
	}
	if looksLikeHeader(g.rows) {
		return 1
	}
	return 0
}

// cellsOf returns the cells of a line, which is one where it has no wide spaces.
func cellsOf(line pdfLine) []pdfCell {
	if len(line.Cells) > 0 {
		return line.Cells
	}
	return []pdfCell{{line.Text, line.Left, line.Right}}
}

// fits reports whether the cells of a line stand below the columns, one below each.
func (g *grid) fits(line pdfLine) bool {
	if len(g.columns) == 0 {
		return true
	}
	at, ok := g.places(line)
	return ok && len(at) == len(g.columns)
}

// places returns the columns of the cells of a line. ok is false where a cell stands below two
// columns, or below none, or two below one.
func (g *grid) places(line pdfLine) (at []int, ok bool) {
	if line.Size == 0 {
		return nil, false
	}
	for _, cell := range cellsOf(line) {
		var below []int
		for i, c := range g.columns {
			if cell.Left < c.Right && c.Left < cell.Right {
				below = append(below, i)
			}
		}
		if len(below) != 1 || slices.Contains(at, below[0]) {
			return nil, false
		}
		at = append(at, below[0])
	}
	return at, len(at) > 0
}

// widen makes the columns as wide as the cells of a line.
func (g *grid) widen(line pdfLine) {
	if g.columns == nil {
		g.columns = slices.Clone(line.Cells)
		return
	}
	for i, cell := range line.Cells {
		g.columns[i].Left = min(g.columns[i].Left, cell.Left)
		g.columns[i].Right = max(g.columns[i].Right, cell.Right)
	}
}

// besideFields puts what form fields hold, the lines from n on, behind what stands to the left of
// them: PDFium reads it last.
func besideFields(lines []pdfLine, n int) []pdfLine {
	out := slices.Clone(lines[:min(n, len(lines))])
	for _, field := range lines[len(out):] {
		best := -1
		for i, line := range out {
			middle := (field.Bottom + field.Top) / 2
			if line.Bottom < middle && middle < line.Top && line.Left < field.Left &&
				(best < 0 || line.Left >= out[best].Left) {
				best = i
			}
		}
		if best < 0 || field.Size == 0 {
			out = append(out, field)
			continue
		}
		field.Top, field.Bottom, field.Size, field.Bold = out[best].Top, out[best].Bottom, out[best].Size, out[best].Bold
		out = slices.Insert(out, best+1, field)
	}
	return out
}
