// Package grounds finds the sentences and the table rows that have most of a question's words, without a model. They
// are likelier than others to answer it.
package grounds

import (
	"strings"

	"example.org/conclave/internal/granules"
	"example.org/conclave/search/internal/content"
)

// CellMark separates the cells of a table row in the text of a passage.
const CellMark = " | "

// unit is a sentence of a passage, or a row of a table.
type unit struct {
	passage    int
	begin, end int    // in the passage's text
	header     []cell // the cells of the table's header; nil: the unit is a sentence
	cells      []cell // the cells of a row, as many as header has
	words      []content.WordIn
	says       []bool  // for each word of the question, whether the unit or its header has it (has)
	share      float64 // the share of the question that these words are, from 0 to 1, by their weight
}

// cell is a cell of a table row.
type cell struct {
	text       string
	begin, end int // bytes in the passage's text
}

// unitsOf returns the sentences and table rows of a passage in their order. passage is the index that the units get.
// The first line of a table is the header of the rows below it and is not a unit.
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

// cellsOf returns the cells of a line without the space around them, split at CellMark. A line that is no table row is
// one cell. at is the position of the line in its text; the positions of the cells count from there too.
func cellsOf(line string, at int) (cells []cell) {
	for part := range strings.SplitSeq(line, CellMark) {
		text := strings.TrimSpace(part)
		begin := at + strings.Index(part, text)
		cells = append(cells, cell{text, begin, begin + len(text)})
		at += len(part) + len(CellMark)
	}
	return cells
}
