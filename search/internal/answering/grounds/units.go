// Package grounds finds the sentences and the rows of tables that say most of a question, without a model: what stands
// there is likelier to answer it.
package grounds

import (
	"strings"

	"example.org/conclave/internal/granules"
	"example.org/conclave/search/internal/content"
)

// CellMark separates the cells of a row of a table, as documents are written into passages.
const CellMark = " | "

// unit is a sentence of a passage, or a row of a table.
type unit struct {
	passage    int
	begin, end int    // in the passage's text
	header     []cell // of a row; nil of a sentence
	cells      []cell // of a row
	words      []content.WordIn
	says       []bool  // for each word of the question, whether it is in the unit or in its header
	said       float64 // share of the question that is said in it, or in its header
}

// cell is a part of a row.
type cell struct {
	text       string
	begin, end int // in the passage's text
}

// unitsOf cuts a passage into sentences and rows. The first line of a table is its header, and no unit.
func unitsOf(passage int, text string) (units []unit) {
	var header []cell
	begin := 0
	for line := range strings.Lines(text) {
		at := begin
		begin += len(line)
		line = strings.TrimRight(line, "\r\n")
		cells := cellsOf(line, at)
		switch {
		case strings.TrimSpace(line) == "":
			continue
		case len(cells) < 2:
			header = nil
			for _, span := range (granules.Granularity{Sentences: 1}).Split(line, nil) {
				units = append(units, unit{
					passage: passage, begin: at + int(span.Begin), end: at + int(span.End),
					words: content.WordsIn(line[span.Begin:span.End]),
				})
			}
		case len(header) != len(cells):
			header = cells
		default:
			units = append(units, unit{
				passage: passage, begin: at, end: at + len(line), header: header, cells: cells, words: content.WordsIn(line),
			})
		}
	}
	return units
}

// cellsOf returns the cells of a line that begins at a byte of a text; one if the line is no row.
func cellsOf(line string, at int) (cells []cell) {
	for part := range strings.SplitSeq(line, CellMark) {
		text := strings.TrimSpace(part)
		begin := at + strings.Index(part, text)
		cells = append(cells, cell{text, begin, begin + len(text)})
		at += len(part) + len(CellMark)
	}
	return cells
}
