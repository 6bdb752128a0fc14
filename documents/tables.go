package documents

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestHeader bounds the names of a table's columns, in bytes: a passage repeats them before its rows. Longer
// ones stand in the first passage alone.
const longestHeader = 1000

// mostHeaderRows bounds how many rows name the columns of a table.
const mostHeaderRows = 10

// addTable adds the rows of a table. The first `headed` of them are marked as the names of the columns; where
// none is, the first rows are taken for it if headerRows says so. The names are written once, as one row, and are
// the Header of all rows below.
func addTable(w *writer, rows [][]string, headed int) {
	headed = min(headed, len(rows), mostHeaderRows)
	if headed == 0 {
		headed = headerRows(rows)
	}
	header := addHeader(w, rows[:headed])
	for _, row := range rows[headed:] {
		w.addRow(Row, 0, header, joinCells(row))
	}
}

// addHeader writes the rows that name a table's columns as one row, and returns what the rows below have as their
// Header: "" where there are no names, or too long ones.
func addHeader(w *writer, rows [][]string) string {
	if len(rows) == 0 {
		return ""
	}
	names := joinCells(columnNames(rows))
	w.addRow(Row, 0, "", names)
	names = clean(names)
	if len(names) <= longestHeader {
		return names
	}
	return ""
}

// columnNames returns one name for each column. Names in two rows, of which the upper ones stand over several
// columns, are put together: "2024 › Revenue". The upper name of a column that has none is that of the next
// column to the left.
func columnNames(rows [][]string) []string {
	if len(rows) == 1 {
		return rows[0]
	}
	width := 0
	for _, row := range rows {
		width = max(width, len(row))
	}
	names := make([]string, width)
	lowest := rows[len(rows)-1]
	for i, row := range rows {
		upper := ""
		for column := range width {
			cell := ""
			if column < len(row) {
				cell = clean(row[column])
			}
			switch {
			case cell != "":
				upper = cell
			case i < len(rows)-1 && column < len(lowest) && clean(lowest[column]) != "" && column > 0:
				cell = upper
			}
			if cell == "" || names[column] == cell || strings.HasSuffix(names[column], Below+cell) {
				continue
			}
			if names[column] != "" {
				names[column] += Below
			}
			names[column] += cell
		}
	}
	return names
}

// headerRows returns how many of the first rows of a table name its columns, where nothing marks them: 0, 1 or 2.
// Two do where the upper one has gaps, and the lower one names the columns.
func headerRows(rows [][]string) int {
	if len(rows) >= 3 && hasGaps(rows[0], rows[1]) &&
		!looksLikeData(rows[0], rows[2:]) && !looksLikeData(rows[1], rows[2:]) {
		below := rows[2:min(len(rows), headLooksAt)]
		if looksLikeHeader(append([][]string{columnNames(rows[:2])}, below...)) {
			return 2
		}
	}
	if looksLikeHeader(rows) {
		return 1
	}
	return 0
}

// hasGaps reports whether a row of names stands over several columns of the row below: some of its cells are empty or
// repeated, where the row below has a cell. In the first column only one of them has a text, or both the same.
func hasGaps(upper, lower []string) bool {
	if len(upper) == 0 || len(lower) == 0 || upper[0] != "" && lower[0] != "" && upper[0] != lower[0] {
		return false
	}
	filled, gaps := 0, 0
	for i, cell := range lower {
		switch {
		case cell == "", i == 0:
		case i >= len(upper), upper[i] == "", i > 0 && upper[i] == upper[i-1]:
			gaps++
		default:
			filled++
		}
	}
	return filled > 0 && gaps > 0
}

// headLooksAt is how many rows tell whether the row above them names the columns.
const headLooksAt = 50

// looksLikeHeader reports whether the first row of a table that nothing marks names its columns: most of its
// cells are filled with short, distinct texts, it does not look like the data below it, and one of these speaks
// for it:
//
//   - in some column, most cells below are numbers or longer texts;
//   - two cells are years or the like;
//   - there are three columns, or one whose values come again.
func looksLikeHeader(rows [][]string) bool {
	if len(rows) < 2 {
		return false
	}
	head := rows[0]
	below := rows[1:min(len(rows), headLooksAt)]
	seen := map[string]bool{}
	filled, periods := 0, 0
	for _, cell := range head {
		if cell == "" {
			continue
		}
		if seen[cell] || utf8.RuneCountInString(cell) > 60 {
			return false
		}
		seen[cell] = true
		filled++
		if isPeriod(cell) {
			periods++
		}
	}
	if filled < 2 || filled*2 < len(head) || looksLikeData(head, below) {
		return false
	}
	if periods >= 2 {
		return true
	}
	for column, name := range head {
		others, unlike := 0, 0
		for _, row := range below {
			if column >= len(row) || row[column] == "" {
				continue
			}
			others++
			if numeric(row[column]) || len(row[column]) > 2*len(name)+8 {
				unlike++
			}
		}
		if others > 0 && unlike*2 >= others {
			return true
		}
	}
	return len(below) >= 2 && (filled >= 3 && filled == len(head) || valuesRecur(below, len(head)))
}

// valuesRecur reports whether a value comes again in a column of some rows.
func valuesRecur(rows [][]string, columns int) bool {
	for column := range columns {
		seen := map[string]bool{}
		for _, row := range rows {
			if column < len(row) && row[column] != "" {
				if seen[row[column]] {
					return true
				}
				seen[row[column]] = true
			}
		}
	}
	return false
}

// looksLikeData reports whether a row holds values like those of the rows below it: one of its cells comes again
// in its column, or has the form of most cells of its column, with digits in it. Years and the like that rise
// from cell to cell are names of columns.
func looksLikeData(head []string, below [][]string) bool {
	for column, cell := range head {
		if cell == "" {
			continue
		}
		others, alike, equal, numbers := 0, 0, 0, 0
		shape := shapeOf(cell)
		for _, row := range below[:min(len(below), headLooksAt)] {
			if column >= len(row) || row[column] == "" {
				continue
			}
			others++
			if row[column] == cell {
				equal++
			}
			if shapeOf(row[column]) == shape {
				alike++
			}
			if numeric(row[column]) {
				numbers++
			}
		}
		switch {
		case others == 0:
			if numeric(cell) && !isPeriod(cell) {
				return true
			}
		case isPeriod(cell):
			// Under the name 2024 are amounts; a column of years has them in all rows.
			if alike*2 > others && yearsBelow(column, below) {
				return true
			}
		case equal > 0 && len(below) > 1,
			strings.ContainsFunc(cell, unicode.IsDigit) && alike*2 > others,
			numeric(cell) && numbers*2 > others:
			return true
		}
	}
	return false
}

// yearsBelow reports whether most cells of a column are years or the like.
func yearsBelow(column int, rows [][]string) bool {
	others, periods := 0, 0
	for _, row := range rows[:min(len(rows), headLooksAt)] {
		if column < len(row) && row[column] != "" {
			others++
			if isPeriod(row[column]) {
				periods++
			}
		}
	}
	return periods*2 > others
}

// isPeriod reports whether a cell names a year or a part of one: "2024", "2023/24", "FY 2024", "Q1 2024".
func isPeriod(cell string) bool {
	digits, years, run := 0, 0, 0
	letters := 0
	for _, r := range cell + " " {
		switch {
		case r >= '0' && r <= '9':
			run = run*10 + int(r-'0')
			digits++
			continue
		case unicode.IsLetter(r):
			letters++
		}
		if run >= 1700 && run <= 2200 {
			years++
		}
		run = 0
		if digits > 8 || letters > 12 {
			return false
		}
	}
	return years > 0 && years <= 2 && !strings.ContainsAny(cell, "$€£¥%,:")
}

// numeric reports whether a cell holds a number, a date or the like.
func numeric(cell string) bool {
	digits := 0
	for _, r := range cell {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	return digits*2 >= utf8.RuneCountInString(strings.TrimSpace(cell)) && digits > 0
}

// joinCells writes the cells of a row; it is empty where all are blank.
func joinCells(cells []string) string {
	last := len(cells)
	for last > 0 && strings.TrimSpace(cells[last-1]) == "" {
		last--
	}
	return strings.Join(cells[:last], " | ")
}
